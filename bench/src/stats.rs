//! Medians and spreads.

/// Repeated measurements of one thing.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    values: Vec<f64>,
}

impl Sample {
    /// Adds one.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
        self.values.sort_by(f64::total_cmp);
    }

    /// Of the two in the middle of an even number, the lower.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The value that this part of them does not exceed.
    pub fn quantile(&self, part: f64) -> f64 {
        match self.values.len() {
            0 => f64::NAN,
            len => self.values[((len - 1) as f64 * part) as usize],
        }
    }

    /// The greatest.
    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// How far apart the least and the greatest are, in parts of the median.
    pub fn spread(&self) -> f64 {
        (self.max() - self.quantile(0.0)) / self.median()
    }

    /// None measured.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self { values }
    }
}
