//! A weight file of the smallest network there can be.

/// One layer of 32 numbers, eight pieces, every weight zero but for the norms.
pub(in crate::embedding) fn small_weights() -> Vec<u8> {
    const HIDDEN: u32 = 32;
    const PIECES: [&str; 8] = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a", "▁a", "b"];
    let mut tensors: Vec<(String, u8, u32)> = vec![
        ("emb.word".to_owned(), 1, 8 * HIDDEN),
        ("emb.pos".to_owned(), 0, 16 * HIDDEN),
        ("emb.type".to_owned(), 0, 2 * HIDDEN),
        ("emb.ln.w".to_owned(), 0, HIDDEN),
        ("emb.ln.b".to_owned(), 0, HIDDEN),
    ];
    for part in ["q", "k", "v", "ao"] {
        tensors.push((format!("l0.{part}.w"), 1, HIDDEN * HIDDEN));
        tensors.push((format!("l0.{part}.b"), 0, HIDDEN));
    }
    tensors.push(("l0.fi.w".to_owned(), 1, 2 * HIDDEN * HIDDEN));
    tensors.push(("l0.fi.b".to_owned(), 0, 2 * HIDDEN));
    tensors.push(("l0.fo.w".to_owned(), 1, 2 * HIDDEN * HIDDEN));
    tensors.push(("l0.fo.b".to_owned(), 0, HIDDEN));
    for norm in ["aln", "oln"] {
        tensors.push((format!("l0.{norm}.w"), 0, HIDDEN));
        tensors.push((format!("l0.{norm}.b"), 0, HIDDEN));
    }

    let mut bytes = b"E5S1".to_vec();
    let number = |bytes: &mut Vec<u8>, value: u32| bytes.extend(value.to_le_bytes());
    for value in [1, HIDDEN, 1, 2, 2 * HIDDEN, 8, 16, 2] {
        number(&mut bytes, value);
    }
    bytes.extend(1e-12_f32.to_le_bytes());
    number(&mut bytes, 32);
    for value in [8, 0, 2, 1, 3] {
        number(&mut bytes, value);
    }
    let text = PIECES.concat();
    bytes.extend((text.len() as u64).to_le_bytes());
    let mut end = 0;
    for piece in [""].iter().chain(&PIECES) {
        end += u32::try_from(piece.len()).unwrap();
        number(&mut bytes, end);
    }
    for place in 0_u8..8 {
        bytes.extend((-f32::from(place)).to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    number(&mut bytes, 0);
    number(&mut bytes, 0);
    number(&mut bytes, u32::try_from(tensors.len()).unwrap());
    let directory: usize = tensors.iter().map(|(name, ..)| 2 + name.len() + 1 + 4 + 16).sum();
    let mut place = bytes.len() + directory;
    let mut data = Vec::new();
    for (name, kind, elements) in &tensors {
        let length = if *kind == 1 { elements / 32 * 18 } else { elements * 4 } as usize;
        bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(*kind);
        number(&mut bytes, *elements);
        bytes.extend((place as u64).to_le_bytes());
        bytes.extend((length as u64).to_le_bytes());
        place += length;
        data.resize(data.len() + length, 0);
    }
    bytes.extend(data);
    bytes
}
