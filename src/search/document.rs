//! From a tool definition to the text of its fields.

use serde::Deserialize;
use serde_json::Value;

use super::tokenize::readable;

/// Deepest level of a schema that is read. Real schemas seldom nest deeper, and
/// `$ref` cycles are never followed.
const DEEPEST_LEVEL: usize = 8;

/// Most characters of one field that are read, so that a giant costs no more
/// than a long description.
const LONGEST_FIELD: usize = 20_000;

/// The fields of a tool, each with a weight of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Field {
    /// The server's name and tags.
    Server,
    /// The tool's name and title.
    Name,
    /// The first sentence of its description.
    Summary,
    /// Its whole description.
    Description,
    /// Names of its parameters.
    ParameterNames,
    /// Descriptions of its parameters.
    ParameterDescriptions,
    /// The values that parameters may take.
    Values,
}

impl Field {
    /// How many there are.
    pub const COUNT: usize = 7;

    /// All of them, in the order of the weights.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Server,
        Self::Name,
        Self::Summary,
        Self::Description,
        Self::ParameterNames,
        Self::ParameterDescriptions,
        Self::Values,
    ];

    /// The word for it in explanations.
    pub fn word(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Name => "name",
            Self::Summary | Self::Description => "description",
            Self::ParameterNames | Self::ParameterDescriptions | Self::Values => "parameters",
        }
    }

    /// Position of the name among the fields.
    pub(super) const NAME: usize = Self::Name as usize;
}

/// What the index knows of one tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Document {
    /// The name under which it is found and by which ties are broken.
    pub key: String,
    /// The server's name.
    pub server: String,
    /// The tool's own name.
    pub name: String,
    /// The text of each field, in the order of [`Field::ALL`].
    pub fields: [String; Field::COUNT],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Definition {
    #[serde(default)]
    title: Value,
    #[serde(default)]
    description: Value,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    annotations: Value,
}

impl Document {
    /// Reads a tool's definition. What has an unexpected type indexes nothing.
    pub fn new(key: &str, server: &str, name: &str, tags: &[String], definition: &str) -> Self {
        let definition: Definition = serde_json::from_str(definition).unwrap_or(Definition {
            title: Value::Null,
            description: Value::Null,
            input_schema: Value::Null,
            annotations: Value::Null,
        });
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned).unwrap_or_default();
        let title = match text(&definition.title) {
            title if title.is_empty() => text(&definition.annotations["title"]),
            title => title,
        };
        let category = text(&definition.annotations["category"]);
        let description = text(&definition.description);
        let mut schema = SchemaText::default();
        schema.read(&definition.input_schema, 0);
        let mut fields = [
            [&[server.to_owned()], tags, &[category]].concat().join(" "),
            format!("{name} {title}"),
            first_sentence(&description).to_owned(),
            description,
            schema.names,
            schema.descriptions,
            schema.values,
        ];
        for field in &mut fields {
            clip(field);
        }
        Self { key: key.to_owned(), server: server.to_owned(), name: name.to_owned(), fields }
    }
}

impl Document {
    /// The text that stands for the tool in a search by meaning: its name in words,
    /// then its description. What else there is made no set better and some worse
    /// (`docs/design/0003-hybrid-ranking.md`).
    pub fn passage(&self) -> String {
        let name = readable(&self.name);
        let description = self.fields[Field::Description as usize].trim();
        if description.is_empty() { name } else { format!("{name}. {description}") }
    }
}

#[derive(Default)]
struct SchemaText {
    names: String,
    descriptions: String,
    values: String,
}

impl SchemaText {
    fn read(&mut self, schema: &Value, level: usize) {
        let is_full = self.names.len() + self.descriptions.len() > LONGEST_FIELD;
        let Some(schema) = schema.as_object().filter(|_| level <= DEEPEST_LEVEL && !is_full) else {
            return;
        };
        let allowed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        for value in allowed.chain(schema.get("const")).filter_map(Value::as_str) {
            add(&mut self.values, value);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            add(&mut self.names, name);
            self.describe(property, level);
        }
        for member in ["items", "anyOf", "oneOf", "allOf", "additionalProperties"] {
            match schema.get(member) {
                Some(Value::Array(several)) => {
                    for one in several {
                        self.describe(one, level);
                    }
                }
                Some(one) => self.describe(one, level),
                None => {}
            }
        }
        for member in ["$defs", "definitions"] {
            let named = schema.get(member).and_then(Value::as_object);
            for (_, one) in named.into_iter().flatten() {
                self.describe(one, level);
            }
        }
    }

    fn describe(&mut self, schema: &Value, level: usize) {
        if let Some(text) = schema.get("description").and_then(Value::as_str) {
            add(&mut self.descriptions, text);
        }
        self.read(schema, level + 1);
    }
}

/// The text up to the first end of a sentence or line that leaves something.
fn first_sentence(description: &str) -> &str {
    let description = description.trim();
    for (at, c) in description.char_indices() {
        let next_is_blank = || description[at + c.len_utf8()..].starts_with(char::is_whitespace);
        let ends = match c {
            '.' | '!' | '?' => next_is_blank(),
            '。' | '！' | '？' | '\n' => true,
            _ => false,
        };
        if ends {
            return &description[..at + c.len_utf8()];
        }
    }
    description
}

fn add(text: &mut String, more: &str) {
    if text.len() < LONGEST_FIELD {
        text.push_str(more);
        text.push('\n');
    }
}

fn clip(text: &mut String) {
    if text.len() > LONGEST_FIELD {
        text.truncate(text.floor_char_boundary(LONGEST_FIELD));
    }
}

#[cfg(test)]
mod tests {
    use super::Document;
    use expect_test::expect;

    #[test]
    fn every_part_of_a_definition_lands_in_its_field() {
        let definition = r##"{"name":"x","title":"Open issue","description":"Opens an issue. Then more.",
            "inputSchema":{"type":"object","properties":{
                "labels":{"type":"array","items":{"enum":["bug","docs"]},"description":"What kind."},
                "nested":{"properties":{"inner":{"description":"Deep."}}},
                "loop":{"$ref":"#"},"any":true}}}"##;
        let tags = ["code".to_owned()];
        let document = Document::new("gh__x", "gh", "x", &tags, definition);
        expect![[r#"
            gh code 
            x Open issue
            Opens an issue.
            Opens an issue. Then more.
            any|labels|loop|nested|inner|
            What kind.|Deep.|
            bug|docs|
        "#]]
        .assert_eq(
            &document.fields.map(|field| format!("{}\n", field.replace('\n', "|"))).concat(),
        );
    }

    #[test]
    fn a_passage_is_the_name_in_words_and_the_description() {
        let passage = |name, definition| Document::new("k", "s", name, &[], definition).passage();
        assert_eq!(
            passage("getHTTPStatus_v2", r#"{"description":" Asks.\nMore. "}"#),
            "get HTTP Status v 2. Asks.\nMore."
        );
        assert_eq!(passage("发送-邮件", "{}"), "发送 邮件");
    }

    #[test]
    fn odd_definitions_index_nothing_and_harm_nothing() {
        for definition in ["", "[]", r#"{"description":null,"inputSchema":true}"#] {
            let document = Document::new("a__b", "a", "b", &[], definition);
            assert_eq!(document.fields[2], "");
        }
        let long = format!(r#"{{"description":"{}"}}"#, "é".repeat(50_000));
        assert!(Document::new("a__b", "a", "b", &[], &long).fields[2].len() <= 20_000);
    }
}
