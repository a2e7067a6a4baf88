//! Definitions of tools as text, with schemas that gateways break.

/// A tool's own name and its definition, which begins with the name.
pub(crate) type Written<'a> = (&'a str, &'a str);

/// The text of a page of these tools.
pub(crate) fn page(tools: &[Written<'_>]) -> String {
    let texts: Vec<&str> = tools.iter().map(|(_, text)| *text).collect();
    format!("[{}]", texts.join(","))
}

/// Schemas that refer to parts of themselves.
pub(crate) const REFERRING: &[Written<'_>] = &[
    ("plain", r#"{"name":"plain","description":"Books a flight","inputSchema":{"type":"object"}}"#),
    (
        "inward",
        r##"{"name":"inward","description":"Moves a parcel","inputSchema":{"type":"object","properties":{"to":{"$ref":"#/$defs/Place"},"via":{"type":"array","items":{"$ref":"#/$defs/Place"}}},"$defs":{"Place":{"type":"object","properties":{"town":{"type":"string"},"next":{"$ref":"#/$defs/Place"}}}}}}"##,
    ),
    (
        "outward",
        r##"{"name":"outward","description":"Counts the sheep","inputSchema":{"type":"object","definitions":{"Old":{"type":"integer"}},"properties":{"n":{"$ref":"#/definitions/Old"}}},"outputSchema":{"type":"object","properties":{"rows":{"$ref":"#/$defs/Rows"}},"$defs":{"Rows":{"type":"array","items":{"$ref":"#/$defs/Rows/$defs/Row"},"$defs":{"Row":{"type":"object"}}}}}}"##,
    ),
];

/// Keywords and numbers that a copy by known members, or a JSON library, would change.
pub(crate) const UNUSUAL: &[Written<'_>] = &[
    (
        "keywords",
        r##"{"name":"keywords","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"urn:example:1","title":"T","x-vendor":{"b":[1,{"a":null}],"a":true},"type":"object","properties":{"zeta":{"default":null,"examples":[null,1]},"alpha":{"const":false}},"additionalProperties":{"$ref":"#/$defs/X"},"patternProperties":{"^x-":{"type":"string"}},"if":{"required":["zeta"]},"then":{"required":["alpha"]},"else":{},"dependentRequired":{"zeta":["alpha"]},"$defs":{"X":{"oneOf":[{"type":"string"},{"not":{}}]}},"unevaluatedProperties":false}}"##,
    ),
    (
        "numbers",
        r#"{"name":"numbers","inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1e400,"minimum":-0.0,"multipleOf":0.10,"enum":[9007199254740993,123456789012345678901234567890,1.0,1E2]}}}}"#,
    ),
    (
        "letters",
        r#"{"name":"letters","inputSchema":{"type":"object","properties":{"größe":{"pattern":"^\\p{L}\u00e9\/\ud83d\ude80$"},"":{"type":"string"}}}}"#,
    ),
];

/// One good tool among bad ones.
pub(crate) const BAD: &[Written<'_>] = &[
    ("empty", r#"{"name":"empty","inputSchema":{}}"#),
    ("text", r#"{"name":"text","inputSchema":{"type":"string"}}"#),
    ("missing", r#"{"name":"missing","description":"has no schema"}"#),
    ("nothing", r#"{"name":"nothing","inputSchema":null}"#),
    ("good", r#"{"name":"good","inputSchema":{"type":"object"}}"#),
    ("list", r#"{"name":"list","inputSchema":[]}"#),
    ("bare", r#"{"name":"bare","inputSchema":true}"#),
    ("many", r#"{"name":"many","inputSchema":{"type":["object","null"]}}"#),
    ("inside", r#"{"name":"inside","inputSchema":{"type":"object","properties":{"p":true}}}"#),
    (
        "outside",
        r#"{"name":"outside","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#,
    ),
    ("nameless", r#"{"title":"nameless","inputSchema":{"type":"object"}}"#),
];
