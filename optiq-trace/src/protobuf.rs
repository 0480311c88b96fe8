//! The part of protocol buffers' wire format that traces need: a varint, a fixed word, bytes.

/// Protocol buffers' wire format (<https://protobuf.dev/programming-guides/encoding/>).
#[derive(Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    pub(crate) fn fixed(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | FIXED64);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | BYTES);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(crate) fn words(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(crate) fn message(self, field: u64, value: Message) -> Self {
        self.bytes(field, &value.0)
    }
}
