//! Speed of the stages of a search, on seeded data.

use std::hint::black_box;

use coffer::search::{Arms, Index, Options, words};
use criterion::{BenchmarkId, Criterion};

use crate::catalogue;

const SIZES: [usize; 3] = [150, 3_000, 30_000];

pub(crate) fn tokenize(criterion: &mut Criterion) {
    let texts: Vec<String> = (0..150).map(|number| catalogue::definition(number).1).collect();
    criterion.bench_function("tokenize/150 definitions", |bench| {
        bench.iter(|| texts.iter().map(|text| words(black_box(text)).len()).sum::<usize>());
    });
}

pub(crate) fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    group.sample_size(10);
    for size in SIZES {
        let documents = catalogue::documents(size);
        group.bench_with_input(
            BenchmarkId::from_parameter(size),
            &documents,
            |bench, documents| {
                bench.iter(|| Index::build(documents.clone(), Options::tuned()));
            },
        );
    }
    group.finish();
}

pub(crate) fn bm25(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bm25");
    for size in SIZES {
        let index = Index::build(catalogue::documents(size), Options::tuned());
        group.bench_function(BenchmarkId::from_parameter(size), |bench| {
            let mut queries = catalogue::QUERIES.iter().cycle();
            bench.iter(|| {
                queries.next().map(|query| index.rank(black_box(query), 5, None, Arms::Keyword))
            });
        });
    }
    group.finish();
}
