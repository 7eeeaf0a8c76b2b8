// @xfn/protobuf: reads and writes protobuf messages by tables.
export { Duration } from "./duration.ts";
export { map, optional, repeated, value } from "./field.ts";
export { type Field, type Message, message } from "./message.ts";
export { bytes, type Codec, enumeration, int32, int64, text } from "./scalar.ts";
