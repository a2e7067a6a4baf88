//! Describes a list of numbers by a few others.

use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// A list of numbers, summed up.
#[derive(Debug, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// How many numbers there are.
    pub(crate) count: usize,
    /// Their sum.
    pub(crate) sum: f64,
    /// Their arithmetic mean.
    pub(crate) mean: f64,
    /// The middle one, or the mean of the two in the middle.
    pub(crate) median: f64,
    /// The smallest.
    pub(crate) minimum: f64,
    /// The largest.
    pub(crate) maximum: f64,
    /// Value below which a quarter of them lies, interpolated.
    pub(crate) lower_quartile: f64,
    /// Value below which three quarters of them lie, interpolated.
    pub(crate) upper_quartile: f64,
    /// Sample standard deviation (divisor n - 1); 0 for a single number.
    pub(crate) standard_deviation: f64,
}

/// Why a list of numbers has no summary.
#[derive(Debug, Error)]
pub(crate) enum StatisticsError {
    #[error("the list of numbers is empty")]
    Empty,
    #[error("the numbers are too large to be summed up")]
    TooLarge,
}

impl StatisticsError {
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::Empty => "Give at least one number.".to_owned(),
            Self::TooLarge => "Divide them all by a common factor first.".to_owned(),
        }
    }
}

/// Sums up `numbers`, in any order.
pub(crate) fn summarise(numbers: &[f64]) -> Result<Summary, StatisticsError> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(&minimum), Some(&maximum)) = (sorted.first(), sorted.last()) else {
        return Err(StatisticsError::Empty);
    };
    let count = sorted.len();
    let sum: f64 = sorted.iter().sum();
    let mean = sum / count as f64;
    let squares: f64 = sorted.iter().map(|number| (number - mean).powi(2)).sum();
    if !sum.is_finite() || !squares.is_finite() {
        return Err(StatisticsError::TooLarge);
    }
    let degrees_of_freedom = count.saturating_sub(1).max(1) as f64;
    Ok(Summary {
        count,
        sum,
        mean,
        median: quantile(&sorted, 0.5),
        minimum,
        maximum,
        lower_quartile: quantile(&sorted, 0.25),
        upper_quartile: quantile(&sorted, 0.75),
        standard_deviation: (squares / degrees_of_freedom).sqrt(),
    })
}

/// Interpolates between the two nearest of the sorted numbers, of which there is at least one.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_numbers_does_not_matter() {
        let summary = summarise(&[5.0, 2.0, 4.0, 4.0, 5.0, 7.0, 9.0, 4.0]).unwrap();
        assert_eq!((summary.count, summary.sum, summary.mean), (8, 40.0, 5.0));
        assert_eq!((summary.median, summary.minimum, summary.maximum), (4.5, 2.0, 9.0));
        assert_eq!((summary.lower_quartile, summary.upper_quartile), (4.0, 5.5));
        assert!((summary.standard_deviation - (32f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_single_number_does_not_deviate_and_no_number_is_refused() {
        assert_eq!(summarise(&[3.0]).unwrap().standard_deviation, 0.0);
        assert!(matches!(summarise(&[]), Err(StatisticsError::Empty)));
        assert!(matches!(summarise(&[1e308, 1e308]), Err(StatisticsError::TooLarge)));
    }
}
