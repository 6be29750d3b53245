//! Reports, and their formats.

mod model;
mod target;
mod unit;

mod compare;
mod csv;
mod html;
mod markdown;
mod save;
mod summary;
mod svg;
mod view;

pub use compare::{Change, Comparison, compare};
pub use csv::csv;
pub use html::html;
pub use markdown::{comparison_markdown, markdown};
pub use model::{Cell, Curve, FORMAT, Fact, Metric, Published, Report, Row, Series};
pub use save::{load, save};
pub use summary::{Best, Standing, Summary, Winner, summary};
pub use target::{Durability, Level, Target};
pub use unit::{Better, Unit};

#[cfg(test)]
mod tests;
