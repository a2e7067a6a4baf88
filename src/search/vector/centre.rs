//! What all requests have in common, taken out of a query.
//!
//! Vectors of one language lie in a narrow cone, those of two in two cones: what a
//! Chinese query and all Chinese texts share outweighs what it asks for. A share of
//! the mean request of the query's own language is therefore subtracted.

use crate::domain::Embedding;

/// Share of the mean that is subtracted; `docs/design/0003-hybrid-ranking.md` has
/// what others give.
const SHARE: f32 = 0.5;

/// Requests in two languages that any assistant is asked, a line each: the language,
/// then the request.
const REQUESTS: &str = include_str!("requests.txt");

/// The mean request of each language.
#[derive(Clone, Debug, Default)]
pub struct Centre(Vec<Vec<f32>>);

impl Centre {
    /// The requests whose vectors [`Centre::new`] needs, by language.
    pub fn requests() -> Vec<Vec<&'static str>> {
        let mut languages: Vec<(&str, Vec<&str>)> = Vec::new();
        for (language, request) in REQUESTS.lines().filter_map(|line| line.split_once(' ')) {
            match languages.iter_mut().find(|(known, _)| *known == language) {
                Some((_, requests)) => requests.push(request),
                None => languages.push((language, vec![request])),
            }
        }
        languages.into_iter().map(|(_, requests)| requests).collect()
    }

    /// Takes the vectors of the requests, by language.
    pub fn new(languages: &[Vec<Embedding>]) -> Self {
        Self(languages.iter().filter_map(|vectors| mean(vectors)).collect())
    }

    /// `query` without what it shares with the requests of its language, at length 1.
    pub fn centred(&self, query: &Embedding) -> Embedding {
        let dot = |mean: &[f32]| mean.iter().zip(query.numbers()).map(|(a, b)| a * b).sum::<f32>();
        let nearest = self.0.iter().max_by(|a, b| dot(a).total_cmp(&dot(b)));
        let Some(mean) = nearest else { return query.clone() };
        let rest: Vec<f32> =
            query.numbers().iter().zip(mean).map(|(x, mean)| x - SHARE * mean).collect();
        let length = rest.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length < f32::EPSILON {
            return query.clone();
        }
        Embedding::new(rest.into_iter().map(|x| x / length).collect())
    }
}

fn mean(vectors: &[Embedding]) -> Option<Vec<f32>> {
    let mut sum = vec![0.0_f32; vectors.first()?.numbers().len()];
    for vector in vectors {
        for (sum, x) in sum.iter_mut().zip(vector.numbers()) {
            *sum += x;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "there are about a hundred requests")]
    let count = vectors.len() as f32;
    Some(sum.into_iter().map(|sum| sum / count).collect())
}

#[cfg(test)]
mod tests {
    use super::Centre;
    use crate::domain::Embedding;
    use crate::search::cosine;

    #[test]
    fn what_the_requests_of_a_language_share_counts_for_less() {
        let unit = |x: f32, y: f32, z: f32| {
            let length = (x * x + y * y + z * z).sqrt();
            Embedding::new(vec![x / length, y / length, z / length])
        };
        // Two languages along x and y; what is asked for lies along z.
        let centre = Centre::new(&[vec![unit(1.0, 0.0, 0.0)], vec![unit(0.0, 1.0, 0.0)]]);
        let query = unit(1.0, 0.0, 0.4);
        let (same_language, same_need) = (unit(1.0, 0.0, -0.1), unit(0.2, 1.0, 0.9));
        assert!(cosine(&query, &same_language) > cosine(&query, &same_need));
        let centred = centre.centred(&query);
        assert!(cosine(&centred, &same_need) > cosine(&query, &same_need));
        assert!(cosine(&centred, &same_language) < cosine(&query, &same_language));
        assert!((cosine(&centred, &centred) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn without_requests_a_query_stays_as_it_is() {
        let query = Embedding::new(vec![1.0, 0.0]);
        assert_eq!(Centre::default().centred(&query), query);
        // Nor can all of a query be taken from it.
        let same = Centre::new(&[vec![Embedding::new(vec![2.0, 0.0])]]);
        assert_eq!(same.centred(&query), query);
    }

    #[test]
    fn there_are_requests_in_two_languages() {
        let languages = Centre::requests();
        assert_eq!(languages.len(), 2);
        assert!(languages.iter().all(|requests| requests.len() >= 40));
    }
}
