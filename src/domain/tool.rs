//! What a server offers, as it said it, and whether strict clients can take it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::RawJson;

/// The kinds of things that a server lists.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum EntryKind {
    /// `tools/list`
    Tool,
    /// `prompts/list`
    Prompt,
    /// `resources/list`
    Resource,
    /// `resources/templates/list`
    Template,
}

/// One listed thing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its name, or its URI for a resource, or its URI template.
    pub key: String,
    /// Its definition, as the server wrote it.
    pub definition: RawJson,
    /// Whether it can be shown to clients.
    pub listability: Listability,
}

/// Whether a definition can be listed without harm to the rest of the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Listability {
    /// It can.
    Listed,
    /// It can, but some clients drop it; the text says which and why.
    Questionable(String),
    /// It stays callable by name, but strict clients would refuse the whole list
    /// because of it; the text says why.
    Unlisted(String),
}

/// What one server offers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Manifest {
    /// Its tools in the order of its listing, each name once.
    pub tools: Vec<Entry>,
    /// Its prompts.
    pub prompts: Vec<Entry>,
    /// Its resources.
    pub resources: Vec<Entry>,
    /// Its resource templates.
    pub templates: Vec<Entry>,
    /// Its own advice to the model.
    pub instructions: Option<String>,
    /// What could not be taken at all, a sentence each.
    pub refused: Vec<String>,
}

impl Manifest {
    /// The entries of one kind.
    pub fn entries(&self, kind: EntryKind) -> &[Entry] {
        match kind {
            EntryKind::Tool => &self.tools,
            EntryKind::Prompt => &self.prompts,
            EntryKind::Resource => &self.resources,
            EntryKind::Template => &self.templates,
        }
    }

    /// The entries of one kind, to be filled.
    pub fn entries_mut(&mut self, kind: EntryKind) -> &mut Vec<Entry> {
        match kind {
            EntryKind::Tool => &mut self.tools,
            EntryKind::Prompt => &mut self.prompts,
            EntryKind::Resource => &mut self.resources,
            EntryKind::Template => &mut self.templates,
        }
    }

    /// Takes one listing of `kind`: each key once, the first one wins, and what
    /// cannot be taken is named in `refused`.
    pub fn take<'a>(&mut self, kind: EntryKind, listed: impl Iterator<Item = &'a RawValue>) {
        let mut keys = std::collections::HashSet::new();
        for definition in listed {
            match judge(kind, definition) {
                Ok(entry) if keys.insert(entry.key.clone()) => {
                    self.entries_mut(kind).push(entry);
                }
                Ok(entry) => self.refused.push(format!(
                    "{} `{}` is listed twice; the first definition counts",
                    kind.noun(),
                    entry.key
                )),
                Err(reason) => self.refused.push(reason),
            }
        }
    }
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Tool, Self::Prompt, Self::Resource, Self::Template];

    /// What one such thing is called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "resource template",
        }
    }

    /// The member of a definition that identifies it.
    pub fn key_member(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }
}

/// The members that decide, each still text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Judged<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    uri_template: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
}

/// Keeps `null` apart from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one listed definition. An error is a sentence that says why it cannot
/// be taken at all: without a usable name nothing can ever be called.
pub fn judge(kind: EntryKind, definition: &RawValue) -> Result<Entry, String> {
    let noun = kind.noun();
    let judged: Judged<'_> = serde_json::from_str(definition.get()).map_err(|error| {
        format!("a {noun} was left out: its definition is unreadable ({error})")
    })?;
    let key = match kind {
        EntryKind::Tool | EntryKind::Prompt => judged.name,
        EntryKind::Resource => judged.uri,
        EntryKind::Template => judged.uri_template,
    };
    let key = key.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let Some(key) = key.filter(|key| !key.trim().is_empty()) else {
        let member = kind.key_member();
        return Err(format!("a {noun} was left out: its `{member}` is missing, empty or no text"));
    };
    let listability = match (kind, judged.fault(kind)) {
        (_, Some(fault)) => Listability::Unlisted(fault),
        (EntryKind::Tool, None) => judged.doubt(),
        (EntryKind::Prompt | EntryKind::Resource | EntryKind::Template, None) => {
            Listability::Listed
        }
    };
    Ok(Entry { key, definition: RawJson::from(definition), listability })
}

impl Judged<'_> {
    /// What would make a strict client refuse the whole list.
    fn fault(&self, kind: EntryKind) -> Option<String> {
        let texts = [("title", self.title), ("description", self.description)];
        for (member, value) in texts {
            if value.is_some_and(|raw| !raw.get().starts_with('"')) {
                return Some(format!("its `{member}` is no text"));
            }
        }
        if self.annotations.is_some_and(|raw| !raw.get().starts_with('{')) {
            return Some("its `annotations` are no object".to_owned());
        }
        if kind != EntryKind::Tool {
            return None;
        }
        let Some(input) = self.input_schema else {
            return Some("its `inputSchema` is missing".to_owned());
        };
        schema_fault("inputSchema", input)
            .or_else(|| schema_fault("outputSchema", self.output_schema?))
    }

    /// What makes only some clients drop the tool.
    fn doubt(&self) -> Listability {
        let root = self.input_schema.and_then(SchemaRoot::read);
        let combinator = root.and_then(|root| root.combinator());
        combinator.map_or(Listability::Listed, |combinator| {
            Listability::Questionable(format!(
                "its `inputSchema` has `{combinator}` at the root; some clients drop such a tool or \
                 refuse the whole list: disable it if yours does"
            ))
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchemaRoot<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    properties: Option<std::collections::BTreeMap<std::borrow::Cow<'a, str>, &'a RawValue>>,
    #[serde(borrow)]
    required: Option<&'a RawValue>,
    #[serde(borrow)]
    one_of: Option<&'a RawValue>,
    #[serde(borrow)]
    any_of: Option<&'a RawValue>,
    #[serde(borrow)]
    all_of: Option<&'a RawValue>,
}

impl<'a> SchemaRoot<'a> {
    fn read(schema: &'a RawValue) -> Option<Self> {
        serde_json::from_str(schema.get()).ok()
    }

    fn combinator(&self) -> Option<&'static str> {
        let combinators = [("oneOf", self.one_of), ("anyOf", self.any_of), ("allOf", self.all_of)];
        combinators.iter().find(|(_, value)| value.is_some()).map(|(name, _)| *name)
    }
}

/// The rules are those of the TypeScript SDK up to revision 2025-11-25, the
/// strictest common reader: it throws away the list with the first offender.
fn schema_fault(member: &str, schema: &RawValue) -> Option<String> {
    let Some(root) = SchemaRoot::read(schema) else {
        return Some(format!("its `{member}` is no JSON schema object"));
    };
    if root.kind.is_none_or(|kind| kind.get() != "\"object\"") {
        return Some(format!("its `{member}` lacks `\"type\": \"object\"` at the root"));
    }
    let bare = root.properties.iter().flatten().find(|(_, schema)| !schema.get().starts_with('{'));
    if let Some((property, _)) = bare {
        return Some(format!("property `{property}` of its `{member}` is no schema object"));
    }
    let is_list = |raw: &RawValue| serde_json::from_str::<Vec<String>>(raw.get()).is_ok();
    if root.required.is_some_and(|required| !is_list(required)) {
        return Some(format!("`required` of its `{member}` is no list of names"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{EntryKind, Listability, Manifest, RawJson};
    use expect_test::expect;
    use serde_json::value::RawValue;

    #[test]
    fn bad_definitions_are_named_one_by_one_and_the_good_ones_stay() {
        let listed = [
            r#"{"name":"good","inputSchema":{"type":"object","$defs":{"x":{}}},"x-new":[1]}"#,
            r#"{"name":"empty","inputSchema":{}}"#,
            r#"{"name":"text","inputSchema":{"type":"string"}}"#,
            r#"{"name":"none"}"#,
            r#"{"name":"null","inputSchema":null}"#,
            r#"{"name":"list","inputSchema":[]}"#,
            r#"{"name":"any","inputSchema":{"type":"object","anyOf":[{}]}}"#,
            r#"{"name":"bare","inputSchema":{"type":"object","properties":{"p":true}}}"#,
            r#"{"name":"out","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#,
            r#"{"name":"silent","description":null,"inputSchema":{"type":"object"}}"#,
            r#"{"name":7,"inputSchema":{"type":"object"}}"#,
            r#"{"inputSchema":{"type":"object"}}"#,
            r#""just text""#,
            r#"{"name":"good","inputSchema":{"type":"object"}}"#,
        ];
        let raw: Vec<Box<RawValue>> =
            listed.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let mut manifest = Manifest::default();
        manifest.take(EntryKind::Tool, raw.iter().map(AsRef::as_ref));
        let mut lines: Vec<String> = manifest
            .tools
            .iter()
            .map(|entry| match &entry.listability {
                Listability::Listed => format!("{}: listed", entry.key),
                Listability::Questionable(_) => format!("{}: questionable", entry.key),
                Listability::Unlisted(reason) => format!("{}: {reason}", entry.key),
            })
            .collect();
        lines.extend(manifest.refused);
        expect![[r#"
            good: listed
            empty: its `inputSchema` lacks `"type": "object"` at the root
            text: its `inputSchema` lacks `"type": "object"` at the root
            none: its `inputSchema` is missing
            null: its `inputSchema` is no JSON schema object
            list: its `inputSchema` is no JSON schema object
            any: questionable
            bare: property `p` of its `inputSchema` is no schema object
            out: its `outputSchema` lacks `"type": "object"` at the root
            silent: its `description` is no text
            a tool was left out: its `name` is missing, empty or no text
            a tool was left out: its `name` is missing, empty or no text
            a tool was left out: its definition is unreadable (invalid type: string "just text", expected struct Judged at line 1 column 11)
            tool `good` is listed twice; the first definition counts"#]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn a_definition_is_kept_byte_for_byte() {
        let text =
            r#"{"name":"t", "inputSchema":{"type":"object","x":1e400,"y":9007199254740993}}"#;
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let mut manifest = Manifest::default();
        manifest.take(EntryKind::Tool, std::iter::once(raw.as_ref()));
        assert_eq!(manifest.tools[0].definition, RawJson::parse(text).unwrap());
    }
}
