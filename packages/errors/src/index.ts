export { messageOf } from "./message-of.ts";
export { someOf } from "./some-of.ts";
