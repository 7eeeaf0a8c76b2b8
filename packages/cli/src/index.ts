// @xfn/cli: the commands of `xfn`, for programs that embed them.
export { main } from "./program.ts";
