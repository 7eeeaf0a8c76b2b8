// Tags (field number and wire type) of the messages in google/protobuf/struct.proto.
// https://protobuf.dev/programming-guides/encoding/#structure

/** `Struct.fields` and the entry of a map. */
export const ENTRY = { field: 0x0a, key: 0x0a, value: 0x12 } as const;

/** `ListValue.values`. */
export const LIST = { values: 0x0a } as const;

/** The kinds of a `Value`. */
export const VALUE = { null: 0x08, number: 0x11, string: 0x1a, bool: 0x20, struct: 0x2a, list: 0x32 } as const;
