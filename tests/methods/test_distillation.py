"""Task-wise distillation and the softmax inside segments: known numbers and naive loops."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.methods.ssil import segment_log_softmax, taskwise_distillation

STUDENT = torch.tensor([[1.0, 0, 2, -1]], dtype=torch.float64)
TEACHER = torch.tensor([[0.0, 1, 2, 1]], dtype=torch.float64)
TASKS = torch.tensor([0, 0, 1, 1])
ALL = torch.ones(4).bool()


def noise(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(("weight", "expected"), [(4, 0.9093452), (1, 0.2273363)])
def test_known_values_with_and_without_the_squared_temperature(
    weight: float, expected: float
) -> None:
    loss = weight * taskwise_distillation(STUDENT, TEACHER, TASKS, ALL, 2.0)
    assert loss.item() == pytest.approx(expected, abs=5e-8)


def test_equals_a_loop_over_tasks() -> None:
    student, teacher = noise(6, 9), noise(6, 9, seed=1)
    tasks = torch.tensor([3, 0, -1, 0, 12, 3, 12, -1, 5])
    total = torch.zeros((), dtype=torch.float64)
    for task in (0, 3, 12):
        s, t = student[:, tasks == task] / 2, teacher[:, tasks == task] / 2
        total += F.kl_div(s.log_softmax(1), t.softmax(1), reduction="batchmean")
    old = (tasks >= 0) & (tasks != 5)
    torch.testing.assert_close(taskwise_distillation(student, teacher, tasks, old, 2.0), total)


def test_other_classes_change_nothing_and_get_no_gradient() -> None:
    old = torch.tensor([True, True, False, False])
    student = STUDENT.clone().requires_grad_()
    loss = taskwise_distillation(student, TEACHER, TASKS, old, 2.0)
    loss.backward()
    assert student.grad is not None
    assert (student.grad[:, 2:] == 0).all()
    assert (student.grad[:, :2] != 0).all()
    far = STUDENT + 50 * ~old
    torch.testing.assert_close(taskwise_distillation(far, TEACHER, TASKS, old, 2.0), loss.detach())


def test_a_student_like_its_teacher_has_nothing_to_learn() -> None:
    shifted = TEACHER + torch.tensor([3.0, 3, -8, -8])
    student = shifted.requires_grad_()
    loss = taskwise_distillation(student, TEACHER, TASKS, ALL, 2.0)
    loss.backward()
    assert loss.abs() < 1e-15
    assert student.grad is not None
    assert student.grad.abs().max() < 1e-15


def test_gradients() -> None:
    student = STUDENT.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: taskwise_distillation(s, TEACHER, TASKS, ALL, 2.0), (student,)
    )


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_segments_are_softmaxes_of_their_own_at_any_scale(scale: float) -> None:
    logits, segments = noise(4, 7, scale=scale), torch.tensor([2, 0, 2, -1, 40, 0, 0])
    found = segment_log_softmax(logits, segments)
    for segment in (-1, 0, 2, 40):
        inside = segments == segment
        torch.testing.assert_close(found[:, inside], logits[:, inside].log_softmax(1))


def test_works_under_vmap() -> None:
    tasks = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, -1, 7]])
    loss = torch.func.vmap(taskwise_distillation, (None, None, 0, None, None))
    together = loss(STUDENT, TEACHER, tasks, ALL, 2.0)
    alone = [taskwise_distillation(STUDENT, TEACHER, row, ALL, 2.0) for row in tasks]
    torch.testing.assert_close(together, torch.stack(alone))
