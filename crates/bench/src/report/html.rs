//! The report as one self-contained page.

use std::fmt::Write as _;

use super::model::Report;
use super::svg::{escaped, lines};
use super::view::{Bar, Block, Chart, Field, sections, subtitle};

const STYLE: &str = include_str!("page.css");

/// The whole report.
pub fn html(report: &Report) -> String {
    let (title, subtitle) = (escaped(&report.title), escaped(&subtitle(report)));
    let sections = sections(report);
    let link = |title: &str| format!("<a href=\"#{}\">{}</a>", anchor(title), escaped(title));
    let links: String = sections.iter().map(|section| link(&section.title)).collect();
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><header><h1>{title}</h1><p>{subtitle}</p></header>\
         <nav>{links}</nav><main>"
    );
    for section in &sections {
        let (id, title) = (anchor(&section.title), escaped(&section.title));
        let _ = write!(page, "<section id=\"{id}\"><h2>{title}</h2>");
        section.blocks.iter().for_each(|block| write_block(&mut page, block));
        page.push_str("</section>");
    }
    page + "</main></body></html>\n"
}

fn anchor(text: &str) -> String {
    text.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

fn write_block(page: &mut String, block: &Block) {
    match block {
        Block::Text(text) => *page += &format!("<p class=\"small\">{}</p>", escaped(text)),
        Block::List(items) => {
            let items: String =
                items.iter().map(|item| format!("<li>{}</li>", escaped(item))).collect();
            *page += &format!("<ul class=\"small\">{items}</ul>");
        }
        Block::Table(table) => {
            page.push_str("<div class=\"scroll\"><table>");
            for (place, line) in table.iter().enumerate() {
                let tag = if place == 0 { "th" } else { "td" };
                let fields: String = line.iter().map(|field| table_field(tag, field)).collect();
                let _ = write!(page, "<tr>{fields}</tr>");
            }
            page.push_str("</table></div>");
        }
        Block::Chart(chart) => write_chart(page, chart),
    }
}

/// A field of a table; the stronger its background, the nearer it is to the best of its row.
fn table_field(tag: &str, field: &Field) -> String {
    let class = if field.best { " class=\"best\"" } else { "" };
    let near = field.near.clamp(0.0, 1.0).powi(2) * 60.0;
    let ground = if near > 0.0 { format!(" style=\"--near:{near:.0}%\"") } else { String::new() };
    format!("<{tag}{class}{ground}>{}</{tag}>", escaped(&field.text))
}

fn write_chart(page: &mut String, chart: &Chart) {
    let (title, won, note) = (escaped(&chart.title), escaped(&chart.won), escaped(&chart.note));
    let _ = write!(
        page,
        "<article><h3>{title} <span class=\"won\">{won}</span></h3><p class=\"small\">{note}</p>"
    );
    let values = chart.bars.iter().flat_map(|bar| [bar.value, bar.mark.as_ref().map(|it| it.0)]);
    let most = values.flatten().fold(f64::MIN_POSITIVE, f64::max);
    chart.bars.iter().for_each(|bar| write_bar(page, bar, most));
    if let Some(drawn) = &chart.lines {
        page.push_str(&lines(&chart.title, drawn));
        page.push_str("<p class=\"legend\">");
        for line in &drawn.lines {
            let (colour, name) = (line.colour, escaped(&line.name));
            let _ = write!(page, "<span><i style=\"background:{colour}\"></i>{name}</span> ");
        }
        page.push_str("</p>");
    }
    page.push_str("</article>");
}

/// A bar from zero; `most` takes the whole width.
fn write_bar(page: &mut String, bar: &Bar, most: f64) {
    let width = |value: f64| value / most * 100.0;
    let (name, label, colour) = (escaped(&bar.name), escaped(&bar.label), bar.colour);
    let _ = write!(page, "<div class=\"bar\"><span>{name}</span><span class=\"track\">");
    if let Some(value) = bar.value.map(width) {
        let _ = write!(page, "<i style=\"width:{value:.1}%;background:{colour}\"></i>");
    }
    if let Some((value, tip)) = &bar.mark {
        let (left, tip) = (width(*value), escaped(tip));
        let _ = write!(page, "<b style=\"left:{left:.1}%\" title=\"{tip}\">◆</b>");
    }
    let _ = write!(page, "</span><span>{label}</span></div>");
}
