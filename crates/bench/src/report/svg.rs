//! Lines over two logarithmic axes, as SVG that stands inside a page: text takes the page's
//! colours.

use std::fmt::Write as _;

use super::view::Lines;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;
/// Frame around the lines, with room for the texts of the axes.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 38.0;

/// Draws a chart.
pub(super) fn lines(title: &str, chart: &Lines) -> String {
    let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let ys = chart.lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let (low, high) = ys.fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    let y_ticks = if low > 0.0 && low.is_finite() { ticks(low, high) } else { vec![1.0] };
    let (low, high) = (low.min(y_ticks[0]), high.max(y_ticks[y_ticks.len() - 1]));
    let first = chart.x_ticks.first().map_or(1.0, |tick| tick.0);
    let last = chart.x_ticks.last().map_or(1.0, |tick| tick.0);
    let x = |value: f64| LEFT + share(value, first, last) * width;
    let y = |value: f64| TOP + (1.0 - share(value, low, high)) * height;

    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" \
         aria-label=\"{}\">",
        escaped(title)
    );
    let mut text = |x: f64, y: f64, anchor: &str, shown: &str| {
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"faint\">{}</text>",
            escaped(shown)
        );
    };
    for tick in &y_ticks {
        text(LEFT - 6.0, y(*tick) + 4.0, "end", &chart.unit.format(*tick));
    }
    for (value, label) in &chart.x_ticks {
        text(x(*value), TOP + height + 16.0, "middle", label);
    }
    text(LEFT + width / 2.0, HEIGHT - 5.0, "middle", &chart.x_title);
    for tick in &y_ticks {
        let _ = write!(svg, "<path d=\"M{LEFT} {:.1}h{width:.1}\" class=\"grid\"/>", y(*tick));
    }
    for line in &chart.lines {
        let (name, colour) = (escaped(&line.name), line.colour);
        let place = |point: &(f64, f64)| format!("{:.1},{:.1}", x(point.0), y(point.1));
        let path: Vec<String> = line.points.iter().map(place).collect();
        let path = path.join(" ");
        let _ = write!(
            svg,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
        for (at, value) in &line.points {
            let (x, y, shown) = (x(*at), y(*value), chart.unit.format(*value));
            let _ = write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"><title>{name}: {shown}\
                 </title></circle>"
            );
        }
    }
    svg + "</svg>"
}

/// The place of a value between two others, 0 to 1.
fn share(value: f64, low: f64, high: f64) -> f64 {
    let length = (high / low).ln();
    if length == 0.0 { 0.5 } else { (value.max(f64::MIN_POSITIVE) / low).ln() / length }
}

/// Round numbers around the values from `low` to `high`.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    // Within few powers of ten, the steps between them get lines, too.
    let steps: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all: Vec<f64> = (first..=last)
        .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
        .collect();
    let from = all.iter().rposition(|tick| *tick <= low * 1.001).unwrap_or(0);
    let to = all.iter().position(|tick| *tick >= high * 0.999).unwrap_or(all.len() - 1);
    all[from..=to.max(from)].to_vec()
}

/// Text that is only text, in an element and in an attribute.
pub(super) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
