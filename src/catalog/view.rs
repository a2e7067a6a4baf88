//! The immutable whole that lists, routes and searches: one moment of the catalogue.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::Deserialize;

use super::listing::{Listing, renamed};
use super::state::KnownServer;
use super::vector_arm::Meaning;
use crate::domain::{
    EntryKind, ExposedName, Listability, ServerName, TextDigest, expose, resource_uri,
};
use crate::search::{Arms, Document, Field, Index, Options, Ranking, VectorQuery, normalize};

/// Where a call under an exposed name goes.
#[derive(Clone, Debug)]
pub struct Route {
    /// The server.
    pub server: ServerName,
    /// The name that goes upstream.
    pub original: String,
    /// Whether the user lets it through.
    pub switch: Switch,
}

/// What the user decided about a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Switch {
    /// It is on.
    On,
    /// The tool is off.
    ToolOff,
    /// Its server is off.
    ServerOff,
}

impl Route {
    /// Whether the user lets it through: the one gate.
    pub fn is_enabled(&self) -> bool {
        self.switch == Switch::On
    }
}

/// One moment of the catalogue. Nobody sees half an update: a view is replaced whole.
#[derive(Debug)]
pub struct View {
    tools: HashMap<ExposedName, Route>,
    prompts: HashMap<ExposedName, Route>,
    listings: [Listing; 4],
    index: Index,
    /// Position in the listing of each indexed tool, and its server.
    indexed: Vec<(usize, ServerName)>,
    tags: BTreeMap<ServerName, Vec<String>>,
    /// What the lists of this view leave out or doubt, a sentence each by server.
    pub remarks: BTreeMap<ServerName, Vec<String>>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

/// Narrows a search to some servers or categories.
#[derive(Clone, Debug, Default)]
pub struct SearchFilter {
    /// Only these servers; all when empty.
    pub servers: BTreeSet<String>,
    /// Only servers with one of these tags; all when empty.
    pub tags: BTreeSet<String>,
}

/// The answer of a search on one view.
#[derive(Debug)]
pub struct Search {
    /// The tools, best first, and how sure the ranking is.
    pub ranking: Ranking,
    /// How many tools were ranked.
    pub searched: usize,
}

impl View {
    /// Builds the view of `servers`, with Coffer's own tool definitions first.
    pub(super) fn build(
        own_tools: Vec<String>,
        servers: &[KnownServer],
        options: &Options,
    ) -> Self {
        let mut draft = Draft { tools: own_tools, ..Draft::default() };
        for known in servers {
            draft.add(known);
        }
        let documents = draft.documents;
        Self {
            tools: draft.tool_routes,
            prompts: draft.prompt_routes,
            listings: [
                Listing::new("tools", &draft.tools),
                Listing::new("prompts", &draft.prompts),
                Listing::new("resources", &draft.resources),
                Listing::new("resourceTemplates", &draft.templates),
            ],
            index: Index::build(documents, options.clone()),
            indexed: draft.indexed,
            tags: draft.tags,
            remarks: draft.remarks,
        }
    }

    /// The `result` of the list request of `kind`.
    pub fn list(&self, kind: EntryKind) -> &Arc<str> {
        self.listings[position(kind)].text()
    }

    /// Where a call of this tool goes.
    pub fn tool(&self, name: &str) -> Option<&Route> {
        self.tools.get(name)
    }

    /// Where a request for this prompt goes.
    pub fn prompt(&self, name: &str) -> Option<&Route> {
        self.prompts.get(name)
    }

    /// The exposed tools, in name order.
    pub fn tools(&self) -> Vec<(&ExposedName, &Route)> {
        let mut tools: Vec<_> = self.tools.iter().collect();
        tools.sort_by_key(|(name, _)| *name);
        tools
    }

    /// The definitions of a server's tools as they are listed, in name order.
    pub fn listed<'a>(&'a self, server: &'a ServerName) -> impl Iterator<Item = &'a str> {
        let own = self.indexed.iter().filter(move |(_, owner)| owner == server);
        own.map(|(position, _)| self.listings[0].definition(*position))
    }

    /// The texts that stand for the indexed tools in a search by meaning.
    pub fn passages(&self) -> impl Iterator<Item = (TextDigest, &str)> {
        self.index.passages()
    }

    /// Ranks the tools that pass `filter`, at most `depth` of them.
    pub fn search(
        &self,
        query: &str,
        filter: &SearchFilter,
        depth: usize,
        arms: &Arms<Meaning>,
    ) -> Search {
        let is_open = filter.servers.is_empty() && filter.tags.is_empty();
        let passes = |position: usize| {
            let server = &self.indexed[position].1;
            let tags = self.tags.get(server).map(Vec::as_slice).unwrap_or_default();
            (filter.servers.is_empty() || filter.servers.contains(server.as_str()))
                && (filter.tags.is_empty() || tags.iter().any(|tag| filter.tags.contains(tag)))
        };
        let searched = if is_open {
            self.indexed.len()
        } else {
            (0..self.indexed.len()).filter(|&at| passes(at)).count()
        };
        let arms = arms
            .map(|meaning| VectorQuery { query: &meaning.query, vectors: &meaning.vectors.index });
        let filter: Option<&dyn Fn(usize) -> bool> = if is_open { None } else { Some(&passes) };
        Search { ranking: self.index.rank(query, depth, filter, arms), searched }
    }

    /// How many tools a search looks at.
    pub fn searched(&self) -> usize {
        self.indexed.len()
    }

    /// The servers and tags that a search can be narrowed to, in order.
    pub fn filterable(&self) -> (Vec<&str>, Vec<&str>) {
        let servers: BTreeSet<&str> =
            self.indexed.iter().map(|(_, server)| server.as_str()).collect();
        let tags: BTreeSet<&str> = self.tags.values().flatten().map(String::as_str).collect();
        (servers.into_iter().collect(), tags.into_iter().collect())
    }

    /// The listed definition and the server of a tool that a search found.
    pub fn found(&self, document: usize) -> (&str, &ServerName) {
        let (listed, server) = &self.indexed[document];
        (self.listings[0].definition(*listed), server)
    }

    /// The parts of a tool's definition in which a word of `query` stands.
    pub fn matched_fields(&self, query: &str, document: usize) -> Vec<&'static str> {
        let (definition, server) = self.found(document);
        let tags = self.tags.get(server).map(Vec::as_slice).unwrap_or_default();
        let name = serde_json::from_str::<Named<'_>>(definition).map(|tool| tool.name);
        let name = name.unwrap_or_default();
        let own = name.split_once("__").map_or(&*name, |(_, own)| own);
        let document = Document::new(&name, server.as_str(), own, tags, definition);
        let mut words: Vec<&str> =
            self.index.matched_fields(query, &document).into_iter().map(Field::word).collect();
        words.dedup();
        words
    }

    /// Up to three exposed tool names that resemble `name`.
    pub fn resembling(&self, name: &str) -> Vec<&str> {
        let wanted = normalize(name).replace(['_', '-', '.'], "");
        let mut nearest: Vec<(usize, &str)> = self
            .tools
            .iter()
            .filter(|(_, route)| route.is_enabled())
            .filter_map(|(exposed, route)| {
                let distance = |candidate: &str| {
                    let candidate = normalize(candidate).replace(['_', '-', '.'], "");
                    edit_distance(&wanted, &candidate)
                };
                let nearest = distance(exposed.as_str()).min(distance(&route.original));
                (nearest <= wanted.len() / 3).then_some((nearest, exposed.as_str()))
            })
            .collect();
        nearest.sort_unstable();
        nearest.into_iter().take(3).map(|(_, name)| name).collect()
    }
}

fn position(kind: EntryKind) -> usize {
    match kind {
        EntryKind::Tool => 0,
        EntryKind::Prompt => 1,
        EntryKind::Resource => 2,
        EntryKind::Template => 3,
    }
}

#[derive(Default)]
struct Draft {
    tools: Vec<String>,
    prompts: Vec<String>,
    resources: Vec<String>,
    templates: Vec<String>,
    tool_routes: HashMap<ExposedName, Route>,
    prompt_routes: HashMap<ExposedName, Route>,
    documents: Vec<Document>,
    indexed: Vec<(usize, ServerName)>,
    tags: BTreeMap<ServerName, Vec<String>>,
    remarks: BTreeMap<ServerName, Vec<String>>,
}

impl Draft {
    fn add(&mut self, known: &KnownServer) {
        let server = &known.server.name;
        let is_on = known.server.is_enabled;
        self.tags.insert(server.clone(), known.server.tags.clone());
        let mut remarks = known.manifest.refused.clone();
        let mut tools: Vec<_> = named(server, &known.manifest.tools);
        tools.sort_by(|a, b| a.1.cmp(&b.1));
        for (entry, name) in tools {
            let switch = match (is_on, known.is_tool_enabled(&entry.key)) {
                (false, _) => Switch::ServerOff,
                (true, false) => Switch::ToolOff,
                (true, true) => Switch::On,
            };
            let route = Route { server: server.clone(), original: entry.key.clone(), switch };
            self.tool_routes.insert(name.clone(), route);
            let is_listed = match &entry.listability {
                Listability::Listed => true,
                Listability::Questionable(doubt) => {
                    remarks.push(format!("tool `{name}`: {doubt}"));
                    true
                }
                Listability::Unlisted(fault) => {
                    remarks.push(format!("tool `{name}` is not listed, only callable: {fault}"));
                    false
                }
            };
            if switch == Switch::On && is_listed {
                self.indexed.push((self.tools.len(), server.clone()));
                self.documents.push(Document::new(
                    name.as_str(),
                    server.as_str(),
                    &entry.key,
                    &known.server.tags,
                    entry.definition.as_str(),
                ));
                self.tools.push(renamed(EntryKind::Tool, entry, name.as_str()));
            }
        }
        if is_on {
            self.add_prompts_and_resources(known, &mut remarks);
        }
        if !remarks.is_empty() {
            self.remarks.insert(server.clone(), remarks);
        }
    }

    fn add_prompts_and_resources(&mut self, known: &KnownServer, remarks: &mut Vec<String>) {
        let server = &known.server.name;
        let mut prompts: Vec<_> = named(server, &known.manifest.prompts);
        prompts.sort_by(|a, b| a.1.cmp(&b.1));
        for (entry, name) in prompts {
            let original = entry.key.clone();
            let route = Route { server: server.clone(), original, switch: Switch::On };
            self.prompt_routes.insert(name.clone(), route);
            if let Listability::Unlisted(fault) = &entry.listability {
                remarks.push(format!("prompt `{name}` is not listed, only callable: {fault}"));
            } else {
                self.prompts.push(renamed(EntryKind::Prompt, entry, name.as_str()));
            }
        }
        for kind in [EntryKind::Resource, EntryKind::Template] {
            for entry in known.manifest.entries(kind) {
                if let Listability::Unlisted(fault) = &entry.listability {
                    let noun = kind.noun();
                    remarks.push(format!("{noun} `{}` is not listed: {fault}", entry.key));
                    continue;
                }
                let definition = renamed(kind, entry, &resource_uri(server, &entry.key));
                if kind == EntryKind::Resource {
                    self.resources.push(definition);
                } else {
                    self.templates.push(definition);
                }
            }
        }
    }
}

fn named<'a>(
    server: &ServerName,
    entries: &'a [crate::domain::Entry],
) -> Vec<(&'a crate::domain::Entry, ExposedName)> {
    let exposed = expose(server, entries.iter().map(|entry| entry.key.as_str()));
    entries.iter().zip(exposed.into_iter().map(|exposed| exposed.name)).collect()
}

/// Levenshtein distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn the_edit_distance_counts_changed_characters() {
        let cases = [("", "abc", 3), ("kitten", "sitting", 3), ("größe", "grosse", 3)];
        for (a, b, expected) in cases {
            assert_eq!(edit_distance(a, b), expected, "{a} {b}");
        }
    }
}
