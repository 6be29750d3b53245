//! Three kinds of chart, as SVG that stands inside a page: text takes the page's colours.

use std::fmt::Write as _;

/// A bar with its name and what is written at its end.
pub(super) struct Bar<'a> {
    pub(super) name: &'a str,
    /// In small letters after the name.
    pub(super) remark: &'a str,
    pub(super) colour: &'a str,
    /// `None` draws only the label.
    pub(super) value: Option<f64>,
    pub(super) label: String,
    /// A second value, drawn as a mark on the bar.
    pub(super) mark: Option<(f64, String)>,
}

/// A line with its points.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) colour: &'a str,
    pub(super) points: Vec<(f64, f64)>,
}

/// The division of an axis.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Equal steps, from zero.
    Linear,
    /// Equal factors.
    Logarithmic,
}

const BAR_WIDTH: f64 = 640.0;
const BAR_HEIGHT: f64 = 22.0;
const NAME_WIDTH: f64 = 220.0;
const LABEL_WIDTH: f64 = 150.0;

/// Horizontal bars, one below the other, from zero.
pub(super) fn bars(title: &str, bars: &[Bar<'_>]) -> String {
    let height = bars.len() as f64 * BAR_HEIGHT + 4.0;
    let values = bars.iter().flat_map(|bar| [bar.value, bar.mark.as_ref().map(|mark| mark.0)]);
    let most = values.flatten().fold(0.0, f64::max);
    let room = BAR_WIDTH - NAME_WIDTH - LABEL_WIDTH;
    let width = |value: f64| if most > 0.0 { (value / most * room).max(1.5) } else { 1.5 };
    let mut svg = open(BAR_WIDTH, height, title);
    for (place, bar) in bars.iter().enumerate() {
        let top = place as f64 * BAR_HEIGHT + 3.0;
        let base = top + 12.5;
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{base:.1}\" text-anchor=\"end\"><tspan class=\"faint\">{}</tspan> \
             {}</text>",
            NAME_WIDTH - 8.0,
            escaped(bar.remark),
            escaped(bar.name)
        );
        let mut end = NAME_WIDTH;
        if let Some(value) = bar.value {
            end += width(value);
            let _ = write!(
                svg,
                "<rect x=\"{NAME_WIDTH}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{}\" rx=\"2\" \
                 fill=\"{}\"/>",
                width(value),
                BAR_HEIGHT - 6.0,
                bar.colour
            );
        }
        if let Some((mark, tip)) = &bar.mark {
            let x = NAME_WIDTH + width(*mark);
            end = end.max(x + 6.0);
            let middle = top + 8.0;
            let _ = write!(
                svg,
                "<path d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\" class=\"mark\"><title>{}</title></path>",
                middle - 5.0,
                escaped(tip)
            );
        }
        let class = if bar.value.is_some() { "value" } else { "faint" };
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{base:.1}\" class=\"{class}\">{}</text>",
            end + 6.0,
            escaped(&bar.label)
        );
    }
    svg + "</svg>"
}

/// The frame of a chart with two axes.
pub(super) struct Axes<'a> {
    pub(super) title: &'a str,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The ticks of the lower axis: where, and what is written there.
    pub(super) x_ticks: Vec<(f64, String)>,
    pub(super) x_scale: Scale,
    pub(super) x_title: &'a str,
    pub(super) y_scale: Scale,
    pub(super) y_label: &'a dyn Fn(f64) -> String,
}

/// Lines over two axes.
pub(super) fn lines(axes: &Axes<'_>, lines: &[Line<'_>]) -> String {
    let (left, right, top, bottom) = (72.0, 12.0, 8.0, 38.0);
    let (width, height) = (axes.width - left - right, axes.height - top - bottom);
    let ys = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let (low, high) = ys.fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    let (low, high) = if low.is_finite() && high > 0.0 { (low, high) } else { (1.0, 1.0) };
    let y_ticks = ticks(low, high, axes.y_scale);
    let low = if axes.y_scale == Scale::Linear {
        0.0
    } else {
        y_ticks.first().map_or(low, |tick| tick.min(low))
    };
    let high = y_ticks.last().map_or(high, |tick| tick.max(high));
    let first = axes.x_ticks.first().map_or(0.0, |tick| tick.0);
    let last = axes.x_ticks.last().map_or(1.0, |tick| tick.0);
    let x = |value: f64| left + share(value, first, last, axes.x_scale) * width;
    let y = |value: f64| top + (1.0 - share(value, low, high, axes.y_scale)) * height;

    let mut svg = open(axes.width, axes.height, axes.title);
    for tick in &y_ticks {
        let at = y(*tick);
        let _ = write!(
            svg,
            "<path d=\"M{left} {at:.1}h{width:.1}\" class=\"grid\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\" class=\"faint\">{}</text>",
            left - 6.0,
            at + 4.0,
            escaped(&(axes.y_label)(*tick))
        );
    }
    for (value, label) in &axes.x_ticks {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"faint\">{}</text>",
            x(*value),
            top + height + 16.0,
            escaped(label)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"faint\">{}</text>",
        left + width / 2.0,
        axes.height - 5.0,
        escaped(axes.x_title)
    );
    for line in lines {
        let mut path = String::new();
        for (place, (at, value)) in line.points.iter().enumerate() {
            let _ = write!(
                path,
                "{}{:.1} {:.1}",
                if place == 0 { "M" } else { "L" },
                x(*at),
                y(*value)
            );
        }
        let _ = write!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
            line.colour
        );
        for (at, value) in &line.points {
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{}\"><title>{}: {}</title></circle>",
                x(*at),
                y(*value),
                line.colour,
                escaped(line.name),
                escaped(&(axes.y_label)(*value))
            );
        }
    }
    svg + "</svg>"
}

/// The place of a value between two others, 0 to 1.
fn share(value: f64, low: f64, high: f64, scale: Scale) -> f64 {
    let place = |value: f64| match scale {
        Scale::Linear => value,
        Scale::Logarithmic => value.max(f64::MIN_POSITIVE).ln(),
    };
    let length = place(high) - place(low);
    if length == 0.0 { 0.5 } else { (place(value) - place(low)) / length }
}

/// Round numbers around the values from `low` to `high`.
pub(super) fn ticks(low: f64, high: f64, scale: Scale) -> Vec<f64> {
    if scale == Scale::Linear {
        let rough = high / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
        let count = (high / step).ceil() as usize;
        return (0..=count).map(|i| i as f64 * step).collect();
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    // Within few powers of ten, the steps between them are worth a line.
    let steps: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all: Vec<f64> = (first..=last)
        .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
        .collect();
    let from = all.iter().rposition(|tick| *tick <= low * 1.001).unwrap_or(0);
    let to = all.iter().position(|tick| *tick >= high * 0.999).unwrap_or(all.len() - 1);
    all[from..=to.max(from)].to_vec()
}

fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"{}\">",
        escaped(title)
    )
}

/// Text that is only text, in an element and in an attribute.
pub(super) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
