// @xfn/cli: what the commands do, for programs that embed them.
export { type BuildFunctionOptions, type BuiltFunction, buildFunction, type FunctionTarget } from "./build/build.ts";
export { CliError, type CliErrorCode, ExitCode } from "./errors.ts";
export { main } from "./program.ts";
