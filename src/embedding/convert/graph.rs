//! The network as ONNX operators.
//!
//! A BERT encoder (Devlin and others, 2018) whose matrices keep their four bits:
//! `MatMulNBits` and `GatherBlockQuantized` of the runtime's own operator set
//! read the same blocks of 32 weights as the package's file. Token types are
//! always zero here, so their row is added to the positions once and for all.

use prost::Message;

use super::TENSORS;
use super::protobuf::{
    Attribute, Dimension, Dimensions, EXTERNAL, Entry, FLOAT, Graph, INT4, INT32, INT64, Kind,
    Model, Node, OperatorSet, Tensor, TensorKind, UINT8, Value,
};
use super::weights::{BLOCK, Packed, Shape, Weights, WeightsError};

/// Layer normalisation's smallest variance, of this model.
const EPSILON: f32 = 1e-12;

/// The runtime's own operator set.
const OWN: &str = "com.microsoft";

/// Tensors below this many bytes stand in the model file itself.
const SMALL: usize = 16 * 1024;

/// Where a tensor in the file beside may begin: pages can be mapped.
const PAGE: usize = 4096;

/// The model file and the file of its large tensors.
pub(super) fn network(weights: &Weights<'_>) -> Result<(Vec<u8>, Vec<u8>), WeightsError> {
    let mut draft = Draft::default();
    let Shape { hidden, heads, inner, .. } = weights.shape;
    draft.embed(weights)?;
    let mut hidden_name = "embedded".to_owned();
    for layer in 0..weights.shape.layers {
        let name = |part: &str| format!("l{layer}.{part}");
        let mut biases = Vec::new();
        for part in ["q", "k", "v"] {
            draft.multiply(weights, &name(part), (&hidden_name, hidden, hidden))?;
            biases.extend(weights.floats(&name(&format!("{part}.b")), hidden)?);
        }
        draft.floats(&name("qkv.b"), &[3 * hidden], &biases);
        let queries = [name("q"), name("k"), name("v"), name("qkv.b"), "padding".to_owned()];
        draft.node(
            (OWN, "MultiHeadAttention"),
            &queries.each_ref().map(String::as_str),
            &name("attended"),
            vec![integer("num_heads", heads)],
        );
        draft.multiply(weights, &name("ao"), (&name("attended"), hidden, hidden))?;
        draft.add_and_normalize(weights, layer, ("ao", &hidden_name, "aln"))?;
        let attended = name("aln");
        draft.multiply(weights, &name("fi"), (&attended, hidden, inner))?;
        let bias = draft.bias(weights, &name("fi.b"), inner)?;
        draft.node((OWN, "BiasGelu"), &[&name("fi"), &bias], &name("inner"), Vec::new());
        draft.multiply(weights, &name("fo"), (&name("inner"), inner, hidden))?;
        draft.add_and_normalize(weights, layer, ("fo", &attended, "oln"))?;
        hidden_name = name("oln");
    }
    draft.node(("", "Identity"), &[&hidden_name], "last_hidden_state", Vec::new());
    Ok(draft.finish(hidden))
}

#[derive(Default)]
struct Draft {
    nodes: Vec<Node>,
    tensors: Vec<Tensor>,
    beside: Vec<u8>,
}

impl Draft {
    fn embed(&mut self, weights: &Weights<'_>) -> Result<(), WeightsError> {
        let Shape { hidden, rows, positions, .. } = weights.shape;
        let words = weights.packed("emb.word", (rows, hidden))?;
        // Signed four-bit numbers, where the file's are eight too high.
        let signed: Vec<u8> = words.nibbles.iter().map(|pair| pair ^ 0x88).collect();
        self.tensor("words", INT4, &[rows, hidden], signed);
        self.floats("words.scales", &[rows, hidden / BLOCK], &words.scales);
        let mut table = weights.floats("emb.pos", positions * hidden)?;
        let types = weights.floats("emb.type", 2 * hidden)?;
        for row in table.chunks_exact_mut(hidden) {
            row.iter_mut().zip(&types).for_each(|(value, kind)| *value += kind);
        }
        self.floats("positions", &[positions, hidden], &table);
        for (name, value) in [("zero", 0_i64), ("one", 1)] {
            self.tensor(name, INT64, &[], value.to_le_bytes().to_vec());
        }
        let gather = vec![
            integer("gather_axis", 0),
            integer("quantize_axis", 1),
            integer("block_size", BLOCK),
        ];
        let inputs = ["words", "input_ids", "words.scales"];
        self.node((OWN, "GatherBlockQuantized"), &inputs, "looked_up", gather);
        self.node(("", "Shape"), &["input_ids"], "sizes", Vec::new());
        self.node(("", "Gather"), &["sizes", "one"], "length", vec![integer("axis", 0)]);
        self.node(("", "Range"), &["zero", "length", "one"], "places", Vec::new());
        self.node(("", "Gather"), &["positions", "places"], "placed", vec![integer("axis", 0)]);
        self.node(("", "Add"), &["looked_up", "placed"], "summed", Vec::new());
        let scale = self.bias(weights, "emb.ln.w", hidden)?;
        let bias = self.bias(weights, "emb.ln.b", hidden)?;
        let mut last_axis = integer("axis", 0);
        last_axis.i = Some(-1);
        self.node(
            ("", "LayerNormalization"),
            &["summed", &scale, &bias],
            "embedded",
            vec![last_axis, epsilon()],
        );
        let to = integer("to", usize::try_from(INT32).unwrap_or_default());
        self.node(("", "Cast"), &["attention_mask"], "padding", vec![to]);
        Ok(())
    }

    /// `name` is both the matrix and the product.
    fn multiply(
        &mut self,
        weights: &Weights<'_>,
        name: &str,
        (input, from, to): (&str, usize, usize),
    ) -> Result<(), WeightsError> {
        let Packed { nibbles, scales } = weights.packed(&format!("{name}.w"), (to, from))?;
        let (matrix, scale) = (format!("{name}.w"), format!("{name}.scales"));
        self.tensor(&matrix, UINT8, &[to, from / BLOCK, BLOCK / 2], nibbles);
        self.floats(&scale, &[to * from / BLOCK], &scales);
        let shape = vec![
            integer("K", from),
            integer("N", to),
            integer("bits", 4),
            integer("block_size", BLOCK),
            // Activations are rounded to eight bits for the product.
            integer("accuracy_level", 4),
        ];
        self.node((OWN, "MatMulNBits"), &[input, &matrix, &scale], name, shape);
        Ok(())
    }

    fn add_and_normalize(
        &mut self,
        weights: &Weights<'_>,
        layer: usize,
        (product, residual, norm): (&str, &str, &str),
    ) -> Result<(), WeightsError> {
        let hidden = weights.shape.hidden;
        let name = |part: &str| format!("l{layer}.{part}");
        let scale = self.bias(weights, &name(&format!("{norm}.w")), hidden)?;
        let shift = self.bias(weights, &name(&format!("{norm}.b")), hidden)?;
        let bias = self.bias(weights, &name(&format!("{product}.b")), hidden)?;
        let inputs = [&name(product), residual, &scale, &shift, &bias];
        self.node((OWN, "SkipLayerNormalization"), &inputs, &name(norm), vec![epsilon()]);
        Ok(())
    }

    /// A small tensor under its own name.
    fn bias(
        &mut self,
        weights: &Weights<'_>,
        name: &str,
        length: usize,
    ) -> Result<String, WeightsError> {
        self.floats(name, &[length], &weights.floats(name, length)?);
        Ok(name.to_owned())
    }

    fn floats(&mut self, name: &str, dims: &[usize], values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, FLOAT, dims, bytes);
    }

    fn tensor(&mut self, name: &str, data_type: i32, dims: &[usize], bytes: Vec<u8>) {
        let dims = dims.iter().map(|dim| signed(*dim)).collect();
        let name = name.to_owned();
        let mut tensor = Tensor { dims, data_type, name, ..Tensor::default() };
        if bytes.len() < SMALL {
            tensor.raw_data = bytes;
        } else {
            self.beside.resize(self.beside.len().next_multiple_of(PAGE), 0);
            let entry = |key: &str, value: String| Entry { key: key.to_owned(), value };
            tensor.data_location = EXTERNAL;
            tensor.external_data = vec![
                entry("location", TENSORS.to_owned()),
                entry("offset", self.beside.len().to_string()),
                entry("length", bytes.len().to_string()),
            ];
            self.beside.extend(bytes);
        }
        self.tensors.push(tensor);
    }

    fn node(
        &mut self,
        (domain, operator): (&str, &str),
        inputs: &[&str],
        output: &str,
        attribute: Vec<Attribute>,
    ) {
        self.nodes.push(Node {
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: vec![output.to_owned()],
            op_type: operator.to_owned(),
            attribute,
            domain: domain.to_owned(),
        });
    }

    fn finish(self, hidden: usize) -> (Vec<u8>, Vec<u8>) {
        let free = |name: &str| Dimension { size: None, name: Some(name.to_owned()) };
        let two = || vec![free("batch"), free("sequence")];
        let mut three = two();
        three.push(Dimension { size: Some(signed(hidden)), name: None });
        let graph = Graph {
            node: self.nodes,
            name: "encoder".to_owned(),
            initializer: self.tensors,
            input: vec![value("input_ids", INT64, two()), value("attention_mask", INT64, two())],
            output: vec![value("last_hidden_state", FLOAT, three)],
        };
        let set = |domain: &str, version| OperatorSet { domain: domain.to_owned(), version };
        let model = Model {
            ir_version: 10,
            producer_name: "coffer".to_owned(),
            graph: Some(graph),
            opset_import: vec![set("", 21), set(OWN, 1)],
        };
        (model.encode_to_vec(), self.beside)
    }
}

fn value(name: &str, element: i32, dim: Vec<Dimension>) -> Value {
    let tensor = TensorKind { element, shape: Some(Dimensions { dim }) };
    Value { name: name.to_owned(), kind: Some(Kind { tensor: Some(tensor) }) }
}

fn integer(name: &str, value: usize) -> Attribute {
    Attribute { name: name.to_owned(), f: None, i: Some(signed(value)), kind: 2 }
}

fn epsilon() -> Attribute {
    Attribute { name: "epsilon".to_owned(), f: Some(EPSILON), i: None, kind: 1 }
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
