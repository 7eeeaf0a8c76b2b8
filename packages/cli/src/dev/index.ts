// @xfn/cli/dev: a Kubernetes API server on this machine, for trying things out and for tests.
export { type ApiServer, ApiServerError, type ApiServerOptions, startApiServer } from "./api-server.ts";
export { type BuildOptions, BuildServerError, buildBinaries } from "./build-binaries.ts";
export {
  builtBinaries,
  explainMissing,
  type FoundBinaries,
  findBinaries,
  type Program,
  type ServerBinaries,
} from "./server-binaries.ts";
export type { ServerUser } from "./server-files.ts";
