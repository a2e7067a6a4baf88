//! The tokenizer's files: as the field's tools read them, and compact.

use serde_json::{Value, json};

use super::weights::{Special, Weights};
use crate::embedding::tokenizer::{REMOVED, SPACES, SPECIAL, pack};

/// Longest input in tokens.
const LONGEST: usize = 512;

/// The contents of the ordinary files, in the order of [`super::TOKENIZER`].
pub(super) fn ordinary(weights: &Weights<'_>) -> Result<[String; 4], serde_json::Error> {
    let Special { begin, end, padding, unknown } = weights.special;
    let pieces: Vec<Value> =
        weights.pieces.iter().map(|(piece, score)| json!([piece, f64::from(*score)])).collect();
    let [begin_text, end_text, padding_text, unknown_text] = SPECIAL;
    let added =
        [(begin, begin_text), (padding, padding_text), (end, end_text), (unknown, unknown_text)]
            .map(|(id, content)| {
                json!({
                    "id": id, "content": content, "single_word": false, "lstrip": false,
                    "rstrip": false, "normalized": false, "special": true
                })
            });
    let one_of = |characters: &[char]| {
        let escaped: String =
            characters.iter().map(|c| format!("\\x{{{:X}}}", u32::from(*c))).collect();
        json!({ "Regex": format!("[{escaped}]") })
    };
    let replace = |pattern: Value, content: &str| json!({ "type": "Replace", "pattern": pattern, "content": content });
    let metaspace = json!({
        "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true
    });
    let token = |id: &str| json!({ "SpecialToken": { "id": id, "type_id": 0 } });
    let part = |id: &str| json!({ "Sequence": { "id": id, "type_id": 0 } });
    let special = |text: &str, id: usize| json!({ "id": text, "ids": [id], "tokens": [text] });
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": { "type": "Sequence", "normalizers": [
            replace(one_of(&REMOVED), ""),
            replace(one_of(&SPACES), " "),
            { "type": "NFKC" },
            replace(json!({ "Regex": " {2,}" }), " "),
        ] },
        "pre_tokenizer": metaspace,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token(begin_text), part("A"), token(end_text)],
            "pair": [token(begin_text), part("A"), token(end_text), token(end_text), part("B"), token(end_text)],
            "special_tokens": {
                begin_text: special(begin_text, begin), end_text: special(end_text, end)
            }
        },
        "decoder": metaspace,
        "model": { "type": "Unigram", "unk_id": unknown, "vocab": pieces, "byte_fallback": false }
    });
    let names = json!({
        "bos_token": begin_text, "eos_token": end_text, "unk_token": unknown_text,
        "pad_token": padding_text, "cls_token": begin_text, "sep_token": end_text
    });
    let mut settings = names.clone();
    settings["model_max_length"] = json!(LONGEST);
    settings["tokenizer_class"] = json!("PreTrainedTokenizerFast");
    let shape = weights.shape;
    let config = json!({
        "model_type": "bert", "hidden_size": shape.hidden, "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads, "intermediate_size": shape.inner,
        "vocab_size": shape.rows, "max_position_embeddings": shape.positions,
        "pad_token_id": padding, "bos_token_id": begin, "eos_token_id": end
    });
    Ok([
        serde_json::to_string(&tokenizer)?,
        serde_json::to_string_pretty(&config)?,
        serde_json::to_string_pretty(&names)?,
        serde_json::to_string_pretty(&settings)?,
    ])
}

/// The compact vocabulary.
pub(super) fn vocabulary(weights: &Weights<'_>) -> Result<Vec<u8>, fst::Error> {
    let Special { begin, end, unknown, .. } = weights.special;
    let id = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
    pack(&weights.pieces, [id(begin), id(end), id(unknown)])
}
