/* Confusion matrices. */

function confusionView() {
  const rows = shown().filter((row) => row.confusion);
  const figures = rows.map((row) => {
    const classes = placeNow().classes;
    const share = row.confusion.map((line) => {
      const sum = line.reduce((a, b) => a + b, 0);
      return line.map((count) => (sum ? (100 * count) / sum : 0));
    });
    const few = classes.length <= 20;
    const trace = {
      type: "heatmap",
      x: classes,
      y: classes,
      z: share,
      zmin: 0,
      zmax: 100,
      colorscale: scale(),
      showscale: false,
      customdata: row.confusion,
      text: row.confusion.map((line) => line.map((count) => Math.round(count))),
      texttemplate: few ? "%{text}" : "",
      textfont: { size: 10 },
      hovertemplate: "label %{y}, predicted %{x}<br>%{customdata} images, %{z:.1f} %<extra></extra>",
      xgap: 1,
      ygap: 1,
    };
    const shapes = row.confusion.flatMap((line, y) => {
      const x = topError(line, y);
      return x == null ? [] : [outline(y, x, ink("far"))];
    });
    const axis = (text) => ({ title: { text }, type: "category", showgrid: false });
    const layout = {
      title: { text: plain(nameOf(row)), font: { size: 14 } },
      shapes: few ? shapes : [],
      xaxis: axis("predicted class"),
      yaxis: { ...axis("label"), autorange: "reversed" },
    };
    return chart(`Confusion matrix of ${nameOf(row)}, ${where()}`, null, [trace], layout);
  });
  const note =
    "Test images at the end of training, mean over runs. Shade: share of the label's images. Outlined: each label's most frequent error.";
  return [heading("Confusion", note), make("div", { class: "grid" }, figures)];
}

function topError(line, y) {
  const errors = line.map((count, x) => (x === y ? -1 : count));
  const most = Math.max(...errors);
  return most > 0.5 ? errors.indexOf(most) : null; // less is printed as 0
}
