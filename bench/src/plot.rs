//! Line plots as SVG.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

/// A line and its name.
pub struct Line {
    /// As the legend says it.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

/// What a plot shows.
pub struct Plot<'a> {
    /// Above it.
    pub title: &'a str,
    /// Below the horizontal axis.
    pub x: &'a str,
    /// Beside the vertical axis.
    pub y: &'a str,
    /// Powers of ten instead of equal steps, for the horizontal axis and for the vertical one.
    pub logarithmic: (bool, bool),
    /// The lines.
    pub lines: Vec<Line>,
}

/// Colours that can be told apart, also in print.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 90, 181),
    RGBColor(220, 50, 32),
    RGBColor(0, 133, 77),
    RGBColor(230, 159, 0),
    RGBColor(123, 50, 148),
    RGBColor(86, 180, 233),
    RGBColor(204, 121, 167),
    RGBColor(90, 90, 90),
    RGBColor(160, 120, 60),
];

impl Plot<'_> {
    /// Draws it into that file.
    pub fn draw(&self, file: &Path) -> Result<()> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = range(points().map(|(x, _)| *x), self.logarithmic.0);
        let y = range(points().map(|(_, y)| *y), self.logarithmic.1);
        let drawn = match self.logarithmic {
            (false, false) => self.draw_over(file, x.0..x.1, y.0..y.1),
            (true, false) => self.draw_over(file, (x.0..x.1).log_scale(), y.0..y.1),
            (false, true) => self.draw_over(file, x.0..x.1, (y.0..y.1).log_scale()),
            (true, true) => self.draw_over(file, (x.0..x.1).log_scale(), (y.0..y.1).log_scale()),
        };
        drawn.map_err(|error| anyhow!("{}: {error}", file.display()))
    }

    fn draw_over<X, Y>(&self, file: &Path, x: X, y: Y) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
    where
        X: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
        Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
        X::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
        Y::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let area = SVGBackend::new(file, (900, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|value| label(*value))
            .y_label_formatter(&|value| label(*value))
            .light_line_style(WHITE)
            .draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)))?
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.4))
            .draw()?;
        area.present()?;
        Ok(())
    }
}

/// From zero, or from the least, to a little above the greatest.
fn range(values: impl Iterator<Item = f64>, is_logarithmic: bool) -> (f64, f64) {
    let (least, greatest) =
        values.fold((f64::INFINITY, 0.0_f64), |(least, greatest), value| (least.min(value), greatest.max(value)));
    if is_logarithmic { (least, greatest * 1.3) } else { (0.0, greatest * 1.15) }
}

fn label(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        size if size >= 1e3 => format!("{}k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
