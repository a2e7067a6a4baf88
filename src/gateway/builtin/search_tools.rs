//! The answer of `coffer__search_tools`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::arguments::{Detail, SearchArguments};
use crate::catalog::{Meaning, SearchFilter, View};
use crate::domain::ServerName;
use crate::search::{Arms, Confidence, Hit, Ranks};

/// Characters of the answer's text; clients cut longer results, and cut JSON is useless.
const BUDGET: usize = 24_000;

/// Kept for what stands around the tools.
const FRAME: usize = 2_000;

/// Of it, for notices.
const NOTICES: usize = 1_500;

/// Characters of one notice about a server.
const LONGEST_NOTICE: usize = 250;

/// Hits shown when nothing fits.
const NEAR_MISSES: usize = 3;

/// Characters of a description where the definition has to be shortened.
const SHORT_DESCRIPTION: usize = 600;

/// What a search needs to know beside the catalogue.
#[derive(Debug)]
pub(in crate::gateway) struct SearchContext {
    /// `ready`, `cold`, `stale` or `unavailable`, by server.
    pub(in crate::gateway) status: BTreeMap<ServerName, &'static str>,
    /// Servers that are not reachable or still starting, a sentence each.
    pub(in crate::gateway) notices: Vec<String>,
    /// What ranks.
    pub(in crate::gateway) arms: Arms<Meaning>,
    /// Why the vectors do not take part.
    pub(in crate::gateway) reason: Option<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    tools: [(); 0],
    total_searched: usize,
    ranker: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranker_reason: Option<&'a str>,
    confidence: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Definition<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
}

/// The raw `result` of a search.
pub(in crate::gateway) fn search_tools(
    view: &View,
    context: &SearchContext,
    arguments: SearchArguments,
) -> String {
    result(&answer(view, context, arguments))
}

/// A search of a kept catalogue, with no server running.
#[derive(Debug)]
pub struct KeptSearch(SearchArguments);

impl KeptSearch {
    /// Reads the arguments as an agent would give them; an error is a sentence.
    pub fn read(arguments: &Map<String, Value>) -> Result<Self, String> {
        SearchArguments::read(arguments).map(Self)
    }

    /// What is searched for.
    pub fn query(&self) -> &str {
        &self.0.query
    }

    /// The structured answer as JSON text.
    pub fn answer(self, view: &View, arms: Arms<Meaning>, reason: Option<String>) -> String {
        let (status, notices) = (BTreeMap::new(), Vec::new());
        answer(view, &SearchContext { status, notices, arms, reason }, self.0)
    }
}

/// An in-band failure: a sentence for the model, and its class for programs.
pub(in crate::gateway) fn tool_error(sentence: &str, class: &str) -> String {
    json!({
        "content": [{ "type": "text", "text": sentence }],
        "isError": true,
        "_meta": { "coffer/error": class }
    })
    .to_string()
}

fn result(structured: &str) -> String {
    let text = Value::from(structured);
    format!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"structuredContent\":{structured},\"isError\":false}}"
    )
}

/// The structured answer as JSON text.
fn answer(view: &View, context: &SearchContext, arguments: SearchArguments) -> String {
    let query = arguments.query;
    let filter = SearchFilter { servers: arguments.servers, tags: arguments.tags };
    let search = view.search(&query, &filter, arguments.top_k, &context.arms);
    let ranking = search.ranking;
    let mut notices = unknown_filters(view, &filter);
    notices.extend(half_built(&context.arms));
    let shown = match ranking.confidence {
        Confidence::None => {
            notices.insert(0, no_fit(&query, ranking.has_words));
            &ranking.hits[..ranking.hits.len().min(NEAR_MISSES)]
        }
        Confidence::High | Confidence::Low => &ranking.hits[..],
    };
    let mut room = BUDGET - FRAME;
    let mut tools = Vec::new();
    let mut shortened = 0;
    for (position, hit) in shown.iter().enumerate() {
        // What every later hit needs at least is kept back for it.
        let reserve = (shown.len() - position - 1) * (SHORT_DESCRIPTION + 300);
        let (tool, length, is_whole) =
            tool(view, context, (&query, *hit), (arguments.detail, room.saturating_sub(reserve)));
        shortened += usize::from(!is_whole);
        room = room.saturating_sub(length);
        tools.push(tool);
    }
    if shortened > 0 {
        notices.push(format!(
            "{shortened} of the tools are shown without their schemas to keep the answer short; \
             search for one by its exact name with top_k 1 to get it whole"
        ));
    }
    let tools = tools.join(",");
    let rest = Answer {
        tools: [],
        total_searched: search.searched,
        ranker: context.arms.ranker(),
        ranker_reason: context.reason.as_deref(),
        confidence: ranking.confidence.word(),
        notices: bounded(notices, &context.notices),
    };
    let rest = serde_json::to_string(&rest).unwrap_or_default();
    rest.replacen("\"tools\":[]", &format!("\"tools\":[{tools}]"), 1)
}

fn no_fit(query: &str, has_words: bool) -> String {
    let shown = Value::from(clipped(query, 80));
    if has_words {
        format!(
            "No tool here fits {shown}; the tools below are only the nearest misses. Try other words \
             for what has to be done, or do without a tool."
        )
    } else {
        format!("{shown} holds no word to search for. Say in words what has to be done.")
    }
}

/// The answer's own notices and those of the servers, in the room that is kept
/// for them.
fn bounded(own: Vec<String>, servers: &[String]) -> Vec<String> {
    let mut notices = own;
    let mut room = NOTICES.saturating_sub(notices.iter().map(String::len).sum());
    for (position, notice) in servers.iter().enumerate() {
        let short = clipped(notice, LONGEST_NOTICE);
        if short.len() > room {
            let left = servers.len() - position;
            notices.push(format!("{left} more servers are not reachable or still starting"));
            break;
        }
        room -= short.len();
        notices.push(short);
    }
    notices
}

fn unknown_filters(view: &View, filter: &SearchFilter) -> Vec<String> {
    let (servers, tags) = view.filterable();
    let unknown = |given: &BTreeSet<String>, known: Vec<&str>, noun: &str| {
        let missing: Vec<&str> =
            given.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
        (!missing.is_empty()).then(|| {
            format!("no {noun} is called {}; there are: {}", some_of(&missing), some_of(&known))
        })
    };
    let servers = unknown(&filter.servers, servers, "server");
    let tags = unknown(&filter.tags, tags, "tag");
    servers.into_iter().chain(tags).collect()
}

/// The first few of many names.
fn some_of(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| clipped(name, 30)).collect();
    let more = names.len().saturating_sub(10);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

fn clipped(text: &str, most: usize) -> String {
    let short: String = text.chars().take(most).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// One tool as JSON text, how long it will be in the text block, and whether
/// nothing was left out of it.
fn tool(
    view: &View,
    context: &SearchContext,
    (query, hit): (&str, Hit),
    (detail, room): (Detail, usize),
) -> (String, usize, bool) {
    let (definition, server) = view.found(hit.document);
    let status = context.status.get(server).copied().unwrap_or("cold");
    // Rounded only here, after sorting.
    let score = (f64::from(hit.score) * 10_000.0).round() / 10_000.0;
    let Ok(definition) = serde_json::from_str::<Definition<'_>>(definition) else {
        return (String::from("{}"), 2, false);
    };
    let why = why(hit.ranks, &view.matched_fields(query, hit.document));
    let tail = format!("\"score\":{score},\"status\":\"{status}\",\"why\":\"{why}\"}}");
    let whole = whole(&definition, detail) + &tail;
    let length = whole.chars().count();
    if length <= room {
        return (whole, length, true);
    }
    let description = definition.description.map(RawValue::get).unwrap_or("\"\"");
    let description: String = serde_json::from_str(description).unwrap_or_default();
    let short = clipped(&description, SHORT_DESCRIPTION);
    let shortened = format!(
        "{{\"name\":{},\"description\":{},\"shortened\":true,{tail}",
        definition.name,
        Value::from(short)
    );
    let length = shortened.chars().count();
    (shortened, length, detail == Detail::Name)
}

/// What each arm thinks of a tool: `keyword 1 (name, description), meaning 3`.
fn why(ranks: Ranks, fields: &[&str]) -> String {
    let fields =
        if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(", ")) };
    let keyword = ranks.keyword.map(|rank| format!("keyword {rank}{fields}"));
    let vector = ranks.vector.map(|rank| format!("meaning {rank}"));
    let arms: Vec<String> = keyword.into_iter().chain(vector).collect();
    if arms.is_empty() { "named".to_owned() } else { arms.join(", ") }
}

fn half_built(arms: &Arms<Meaning>) -> Option<String> {
    let (Arms::Vector(meaning) | Arms::Both(meaning)) = arms else { return None };
    let missing = meaning.vectors.missing;
    (missing > 0).then(|| format!("{missing} tools are so far found by keyword alone"))
}

fn whole(definition: &Definition<'_>, detail: Detail) -> String {
    let schemas = [
        ("inputSchema", definition.input_schema),
        ("outputSchema", definition.output_schema),
        ("annotations", definition.annotations),
    ];
    let schemas = schemas.into_iter().filter(|_| detail == Detail::Schema);
    let mut text = format!("{{\"name\":{},", definition.name);
    let members = [("title", definition.title), ("description", definition.description)];
    for (member, value) in members.into_iter().chain(schemas) {
        let missing = if member == "description" { Some("\"\"") } else { None };
        if let Some(value) = value.map(RawValue::get).or(missing) {
            text.extend(["\"", member, "\":", value, ","]);
        }
    }
    text
}
