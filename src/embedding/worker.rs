//! The one thread that embeds: queries before everything else.
//!
//! It also watches the folder of models: a model that appears is loaded, one that
//! goes is let go, with no restart.

#![expect(
    clippy::disallowed_methods,
    reason = "a thread of its own, which waits for native code: no paused clock reaches it"
)]

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashlink::LruCache;

use super::description::Description;
use super::embedder::Embedder;
use super::store::{ModelStore, Stamp};
use super::{OnnxEmbedder, StoreError, Tokenizing};
use crate::domain::{Embedding, chain};
use crate::sys::release_memory;

/// How soon a model that was installed or removed is seen.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A model that was refused is tried again after this time, even if no file changed.
const TRY_AGAIN: Duration = Duration::from_secs(60);

/// A text takes some 10 ms; a model that is silent for this long hangs.
const HANGS: Duration = Duration::from_secs(10);

/// Queries whose vectors are remembered.
const REMEMBERED: usize = 1_000;

/// Why there is no vector: a sentence for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unavailable(pub String);

impl fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The vector of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVector {
    /// The vector.
    pub vector: Embedding,
    /// The fingerprint of the model that made it: to be compared with its vectors alone.
    pub fingerprint: Arc<str>,
}

/// What there is of a model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ModelState {
    /// It is being loaded.
    Loading,
    /// It serves.
    Ready(Arc<Description>),
    /// There is none, or it cannot be used: a sentence says why.
    Unavailable(String),
}

/// Where the thread gets its model from.
pub trait ModelSource: Send + 'static {
    /// Changes whenever another model may have come.
    fn stamp(&self) -> Stamp;

    /// Loads the model. The error is a sentence.
    fn load(&self) -> Result<Box<dyn Embedder>, String>;
}

/// Installed models, to run on so many threads.
#[derive(Debug)]
pub struct Installed {
    /// The folder.
    pub store: ModelStore,
    /// Threads of the runtime.
    pub threads: usize,
}

impl ModelSource for Installed {
    fn stamp(&self) -> Stamp {
        self.store.stamp()
    }

    fn load(&self) -> Result<Box<dyn Embedder>, String> {
        let located = self.store.locate().map_err(|error| chain(&error))?;
        located.verify_runtime().map_err(|error: StoreError| chain(&error))?;
        OnnxEmbedder::load(&located.model, &located.runtime, self.threads, Tokenizing::Compact)
            .map(|embedder| Box::new(embedder) as Box<dyn Embedder>)
            .map_err(|error| chain(&error))
    }
}

/// Vectors, and the fingerprint of their model.
type Embedded = (Vec<Embedding>, Arc<str>);

type Reply = Box<dyn FnOnce(Result<Embedded, Unavailable>) + Send>;

struct Job {
    texts: Vec<String>,
    /// The only model that may embed them; any when it is missing.
    fingerprint: Option<Arc<str>>,
    /// Nobody waits for the answer after this.
    until: Option<Instant>,
    reply: Reply,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Told after each change of the model.
    listener: Box<dyn Fn() + Send + Sync>,
}

struct State {
    model: ModelState,
    fingerprint: Arc<str>,
    queries: VecDeque<Job>,
    others: VecDeque<Job>,
    busy_since: Option<Instant>,
    remembered: LruCache<String, Embedding>,
    embedded: u64,
    is_over: bool,
}

/// Hands texts to the thread. Cheap to clone.
#[derive(Clone)]
pub struct EmbedWorker(Arc<Shared>);

impl fmt::Debug for EmbedWorker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("EmbedWorker").field(&self.model()).finish()
    }
}

impl EmbedWorker {
    /// Starts the thread; `listener` is told whenever the model has changed.
    ///
    /// The thread is not waited for at the end: it may sit in a runtime that hangs,
    /// and it holds nothing that could be lost.
    pub fn start(
        source: impl ModelSource,
        listener: Box<dyn Fn() + Send + Sync>,
    ) -> std::io::Result<Self> {
        let state = State {
            model: ModelState::Loading,
            fingerprint: Arc::default(),
            queries: VecDeque::new(),
            others: VecDeque::new(),
            busy_since: None,
            remembered: LruCache::new(REMEMBERED),
            embedded: 0,
            is_over: false,
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), listener });
        let worker = Self(shared.clone());
        let run = move || Runner { shared, source: Box::new(source), embedder: None }.run();
        std::thread::Builder::new().name("embedding".to_owned()).spawn(run)?;
        Ok(worker)
    }

    /// What there is of a model.
    pub fn model(&self) -> ModelState {
        self.0.lock().model.clone()
    }

    /// The model, once it is loaded or known to be unavailable.
    pub fn settled_model(&self, longest: Duration) -> ModelState {
        let until = Instant::now() + longest;
        let mut state = self.0.lock();
        while state.model == ModelState::Loading {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.model.clone()
    }

    /// The fingerprint of the model that is ready.
    pub fn fingerprint(&self) -> Option<Arc<str>> {
        let state = self.0.lock();
        matches!(state.model, ModelState::Ready(_)).then(|| state.fingerprint.clone())
    }

    /// Texts that were embedded since the start, queries among them.
    pub fn embedded(&self) -> u64 {
        self.0.lock().embedded
    }

    /// Embeds a query that somebody waits for until `until`. A query that was
    /// embedded before is answered at once.
    pub fn query(
        &self,
        text: &str,
        until: Instant,
        reply: impl FnOnce(Result<QueryVector, Unavailable>) + Send + 'static,
    ) {
        let mut state = self.0.lock();
        let prefix = match &state.model {
            ModelState::Ready(description) => &description.query_prefix,
            ModelState::Loading => {
                drop(state);
                return reply(Err(Unavailable("the model is still being loaded".to_owned())));
            }
            ModelState::Unavailable(reason) => {
                let reason = Unavailable(reason.clone());
                drop(state);
                return reply(Err(reason));
            }
        };
        let text = format!("{prefix}{text}");
        if let Some(vector) = state.remembered.get(&text) {
            let vector = vector.clone();
            let fingerprint = state.fingerprint.clone();
            drop(state);
            return reply(Ok(QueryVector { vector, fingerprint }));
        }
        if let Some(silent) = state.busy_since.map(|since| since.elapsed()).filter(|t| *t > HANGS) {
            drop(state);
            let reason = format!("the model has not answered for {} s", silent.as_secs());
            return reply(Err(Unavailable(reason)));
        }
        let reply: Reply = Box::new(move |embedded| {
            reply(embedded.and_then(|(vectors, fingerprint)| {
                let vector = vectors.into_iter().next();
                let vector = vector.ok_or_else(|| Unavailable("no vector".to_owned()))?;
                Ok(QueryVector { vector, fingerprint })
            }));
        });
        let until = Some(until);
        state.queries.push_back(Job { texts: vec![text], fingerprint: None, until, reply });
        self.0.changed.notify_all();
    }

    /// Embeds `texts` when no query is waiting, and waits for them. Only the model
    /// with this fingerprint will do.
    pub fn embed(
        &self,
        texts: Vec<String>,
        fingerprint: &Arc<str>,
    ) -> Result<Vec<Embedding>, Unavailable> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let reply: Reply = Box::new(move |vectors| {
            let _nobody_waits_any_more = sender.send(vectors);
        });
        let mut state = self.0.lock();
        if state.is_over {
            return Err(Unavailable("the gateway ends".to_owned()));
        }
        let fingerprint = Some(fingerprint.clone());
        state.others.push_back(Job { texts, fingerprint, until: None, reply });
        self.0.changed.notify_all();
        drop(state);
        // A runtime that hangs never answers, not even at the end.
        loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok(embedded) => return embedded.map(|(vectors, _)| vectors),
                Err(RecvTimeoutError::Timeout) if !self.is_over() => {}
                Err(_) => return Err(Unavailable("the gateway ends".to_owned())),
            }
        }
    }

    /// Whether the thread has been told to end.
    pub fn is_over(&self) -> bool {
        self.0.lock().is_over
    }

    /// Ends the thread after the text at hand; whoever waits is told.
    pub fn stop(&self) {
        let mut state = self.0.lock();
        state.is_over = true;
        let waiting: Vec<Job> = std::mem::take(&mut state.queries)
            .into_iter()
            .chain(std::mem::take(&mut state.others))
            .collect();
        self.0.changed.notify_all();
        drop(state);
        for job in waiting {
            (job.reply)(Err(Unavailable("the gateway ends".to_owned())));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_model(&self, model: ModelState) {
        let mut state = self.lock();
        state.remembered.clear();
        state.fingerprint = match &model {
            ModelState::Ready(description) => description.fingerprint().into(),
            ModelState::Loading | ModelState::Unavailable(_) => Arc::default(),
        };
        state.model = model;
        self.changed.notify_all();
        drop(state);
        (self.listener)();
    }
}

struct Runner {
    shared: Arc<Shared>,
    source: Box<dyn ModelSource>,
    embedder: Option<Box<dyn Embedder>>,
}

impl Runner {
    fn run(mut self) {
        let mut seen: Option<Stamp> = None;
        let mut looked = Instant::now();
        let mut tried = looked;
        loop {
            if seen.is_none() || looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                let stamp = self.source.stamp();
                let is_due = self.embedder.is_none() && tried.elapsed() >= TRY_AGAIN;
                if seen.as_ref() != Some(&stamp) || is_due {
                    seen = Some(stamp);
                    tried = looked;
                    self.load();
                }
            }
            let mut state = self.shared.lock();
            if state.queries.is_empty() && state.others.is_empty() && !state.is_over {
                let waited = self.shared.changed.wait_timeout(state, LOOK_EVERY);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            if state.is_over {
                return;
            }
            let job = match state.queries.pop_front() {
                Some(job) => Some(job),
                None => state.others.pop_front(),
            };
            state.busy_since = job.is_some().then(Instant::now);
            drop(state);
            if let Some(job) = job {
                self.work(job);
            }
        }
    }

    fn load(&mut self) {
        let was_ready = self.embedder.take().is_some();
        if was_ready {
            self.shared.set_model(ModelState::Loading);
        }
        match self.source.load() {
            Ok(embedder) => {
                let description = Arc::new(embedder.description().clone());
                tracing::info!(model = %description.name, "search by meaning is ready");
                self.embedder = Some(embedder);
                self.shared.set_model(ModelState::Ready(description));
            }
            Err(reason) => {
                let is_news = self.shared.lock().model != ModelState::Unavailable(reason.clone());
                if is_news {
                    tracing::warn!("search is by keyword alone: {reason}");
                    self.shared.set_model(ModelState::Unavailable(reason));
                }
            }
        }
        release_memory();
    }

    fn work(&mut self, job: Job) {
        let is_late = job.until.is_some_and(|until| until < Instant::now());
        let fingerprint = self.shared.lock().fingerprint.clone();
        let is_other = job.fingerprint.as_ref().is_some_and(|wanted| *wanted != fingerprint);
        let embedded = match &mut self.embedder {
            _ if is_late => Err(Unavailable("the model was busy for too long".to_owned())),
            Some(_) if is_other => Err(Unavailable("the model has been replaced".to_owned())),
            Some(embedder) => {
                embedder.embed(&job.texts).map_err(|error| Unavailable(chain(&error)))
            }
            None => match self.shared.lock().model.clone() {
                ModelState::Unavailable(reason) => Err(Unavailable(reason)),
                ModelState::Loading | ModelState::Ready(_) => {
                    Err(Unavailable("the model is being loaded".to_owned()))
                }
            },
        };
        let mut state = self.shared.lock();
        state.busy_since = None;
        if let Ok(vectors) = &embedded {
            state.embedded += vectors.len() as u64;
            if job.until.is_some() {
                for (text, vector) in job.texts.into_iter().zip(vectors) {
                    state.remembered.insert(text, vector.clone());
                }
            }
        }
        drop(state);
        (job.reply)(embedded.map(|vectors| (vectors, fingerprint)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use super::{EmbedWorker, ModelSource, ModelState, Stamp, Unavailable};
    use crate::domain::Embedding;
    use crate::embedding::{Description, EmbedError, Embedder, ModelStore, Overrides, Pooling};

    const LONGEST: Duration = Duration::from_secs(20);

    /// Writes down the texts that it is given, and waits for leave before each.
    struct Recorder {
        texts: Arc<Mutex<Vec<String>>>,
        leave: Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
        description: Description,
    }

    impl Embedder for Recorder {
        fn embed(&mut self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
            self.leave.lock().unwrap().recv().ok();
            self.texts.lock().unwrap().extend(texts.to_vec());
            if texts.iter().any(|text| text.contains("bad")) {
                return Err(EmbedError::Failed("a bad text".to_owned()));
            }
            Ok(texts.iter().map(|_| Embedding::new(vec![1.0])).collect())
        }

        fn description(&self) -> &Description {
            &self.description
        }
    }

    struct Source {
        texts: Arc<Mutex<Vec<String>>>,
        leave: Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
    }

    impl ModelSource for Source {
        fn stamp(&self) -> Stamp {
            ModelStore::new("nowhere".into(), Overrides::default()).stamp()
        }

        fn load(&self) -> Result<Box<dyn Embedder>, String> {
            let description = Description {
                name: "recorder".to_owned(),
                dimension: 1,
                pooling: Pooling::Mean,
                query_prefix: "q: ".to_owned(),
                passage_prefix: String::new(),
                longest_input: 8,
                licence: None,
                source: None,
                files: Vec::new(),
            };
            let (texts, leave) = (self.texts.clone(), self.leave.clone());
            Ok(Box::new(Recorder { texts, leave, description }))
        }
    }

    fn worker() -> (EmbedWorker, Arc<Mutex<Vec<String>>>, Sender<()>) {
        let (leave, wait) = channel();
        let texts = Arc::new(Mutex::new(Vec::new()));
        let source = Source { texts: texts.clone(), leave: Arc::new(Mutex::new(wait)) };
        let worker = EmbedWorker::start(source, Box::new(|| {})).unwrap();
        assert!(matches!(worker.settled_model(LONGEST), ModelState::Ready(_)));
        (worker, texts, leave)
    }

    #[test]
    fn a_query_goes_before_the_texts_that_were_there_first() {
        let (worker, texts, leave) = worker();
        let threads: Vec<_> = ["one", "two", "three"]
            .map(|text| {
                let own = worker.clone();
                let thread = std::thread::spawn(move || {
                    own.embed(vec![text.to_owned()], &own.fingerprint().unwrap())
                });
                // The first is at work, and each other in the queue, before the next.
                let waiting = ["one", "two", "three"].iter().position(|t| *t == text).unwrap();
                let is_there = || {
                    let state = worker.0.lock();
                    state.busy_since.is_some() && state.others.len() == waiting
                };
                while !is_there() {
                    std::thread::yield_now();
                }
                thread
            })
            .into();
        let (sender, answer) = channel();
        worker.query("find", Instant::now() + LONGEST, move |found| sender.send(found).unwrap());
        (0..4).for_each(|_| leave.send(()).unwrap());
        assert!(answer.recv().unwrap().is_ok());
        assert!(threads.into_iter().all(|thread| thread.join().unwrap().is_ok()));
        assert_eq!(*texts.lock().unwrap(), ["one", "q: find", "two", "three"]);
    }

    #[test]
    fn a_query_is_embedded_once_and_a_failure_is_not_remembered() {
        let (worker, texts, leave) = worker();
        (0..3).for_each(|_| leave.send(()).unwrap());
        let ask = |text: &str| {
            let (sender, answer) = channel();
            worker.query(text, Instant::now() + LONGEST, move |found| sender.send(found).unwrap());
            answer.recv().unwrap()
        };
        assert!(ask("find").is_ok() && ask("find").is_ok());
        let expected = Err(Unavailable("the model failed: a bad text".to_owned()));
        assert_eq!((ask("bad"), ask("bad")), (expected.clone(), expected));
        assert_eq!(*texts.lock().unwrap(), ["q: find", "q: bad", "q: bad"]);
        assert_eq!(worker.embedded(), 1);
    }
}
