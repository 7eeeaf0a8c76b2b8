export { CodedError, type CodedErrorOptions } from "./coded-error.ts";
export { messageOf } from "./message-of.ts";
export { someOf } from "./some-of.ts";
