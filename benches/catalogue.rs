//! Seeded catalogues: the same tools for the same count, on every machine.

use coffer::search::Document;

const VERBS: &[&str] = &[
    "create", "list", "update", "delete", "search", "export", "archive", "approve", "merge",
    "schedule", "restart", "rename",
];
const NOUNS: &[&str] = &[
    "issue",
    "branch",
    "invoice",
    "calendar event",
    "message",
    "dashboard",
    "pod",
    "bucket",
    "customer",
    "report",
    "pipeline",
    "table",
    "page",
    "secret",
    "alert",
    "deployment",
];
const DETAILS: &[&str] = &[
    "in a repository",
    "for the current user",
    "with optional filters",
    "by its id",
    "and returns the new state",
    "across all projects",
    "between two dates",
    "in one step",
];

/// Queries of the length that agents write.
pub(crate) const QUERIES: &[&str] = &[
    "create an issue in the repository",
    "list all pods across projects",
    "search messages between two dates",
    "export the invoice report of a customer",
    "which tool restarts a deployment",
    "rename the branch",
];

/// One tool definition; `number` is the seed.
pub(crate) fn definition(number: usize) -> (String, String) {
    let pick = |list: &[&'static str], step: usize| list[(number * 7919 + step) / 13 % list.len()];
    let (verb, noun) = (pick(VERBS, 1), pick(NOUNS, number));
    let name = format!("{verb}_{}_{number}", noun.replace(' ', "_"));
    let properties: Vec<String> = (0..4)
        .map(|at| {
            let subject = pick(NOUNS, at * 31);
            format!(
                "\"{}_id\":{{\"type\":\"string\",\"description\":\"Id of the {subject} {}\"}}",
                subject.replace(' ', "_"),
                pick(DETAILS, at * 17)
            )
        })
        .collect();
    let text = format!(
        "{{\"name\":\"{name}\",\"description\":\"Use it to {verb} a {noun} {} {}.\",\"inputSchema\":{{\"type\":\"object\",\"properties\":{{{}}}}}}}",
        pick(DETAILS, 3),
        pick(DETAILS, 29),
        properties.join(",")
    );
    (name, text)
}

/// `count` documents over 30 tools a server, in the order of their keys.
pub(crate) fn documents(count: usize) -> Vec<Document> {
    let mut documents: Vec<Document> = (0..count)
        .map(|number| {
            let (name, text) = definition(number);
            let server = format!("server-{}", number / 30);
            Document::new(&format!("{server}__{name}"), &server, &name, &[], &text)
        })
        .collect();
    documents.sort_by(|a, b| a.key.cmp(&b.key));
    documents
}
