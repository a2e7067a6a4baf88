//! How far two vectors of length 1 are apart.
//!
//! The graph's own distances abort on rounding (two tools with one text) and copy
//! each vector; this one clamps, and shares the numbers with whoever holds them.

use hnsw_rs::anndists::dist::distances::Distance;

use crate::domain::Embedding;

/// Lanes that are added up side by side: four registers of eight numbers.
const LANES: usize = 32;

/// The cosine of two vectors of length 1, which is their dot product.
pub fn cosine(a: &Embedding, b: &Embedding) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has just said that it knows these instructions.
        #[expect(unsafe_code, reason = "safe code cannot call what needs a processor's feature")]
        return unsafe { dot_wide(a.numbers(), b.numbers()) };
    }
    dot(a.numbers(), b.numbers(), |sum, x, y| sum + x * y)
}

/// The same loop, compiled for wider registers: a third of the time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_wide(a: &[f32], b: &[f32]) -> f32 {
    dot(a, b, |sum, x, y| x.mul_add(y, sum))
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32], add: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] = add(sums[lane], a[lane], b[lane]);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// One minus the cosine, never negative.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Angle;

impl Distance<Embedding> for Angle {
    /// Each side is a slice of one vector.
    fn eval(&self, a: &[Embedding], b: &[Embedding]) -> f32 {
        match (a, b) {
            ([a], [b]) => (1.0 - cosine(a, b)).max(0.0),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cosine;
    use crate::domain::Embedding;

    #[test]
    fn the_cosine_adds_up_every_number_once() {
        let numbers = |factor: u8| {
            Embedding::new((0..70_u8).map(|at| f32::from(at % 5) * f32::from(factor)).collect())
        };
        // Fourteen times 0 + 1 + 4 + 9 + 16.
        assert!((cosine(&numbers(1), &numbers(2)) - 2.0 * 14.0 * 30.0).abs() < f32::EPSILON);
    }
}
