// @xfn/dev-cluster: a Kubernetes API server on this machine, for development and tests.
export { type BuildOptions, BuildServerError, buildBinaries } from "./binaries/build-binaries.ts";
export {
  builtBinaries,
  explainMissing,
  type FoundBinaries,
  findBinaries,
  type Program,
  type ServerBinaries,
} from "./binaries/server-binaries.ts";
export { DataFolderError, lockFolder } from "./data-folder/lock-folder.ts";
export { quote } from "./data-folder/quote.ts";
export { writeEnvironment } from "./data-folder/write-environment.ts";
export { type ApiServer, type ApiServerOptions, startApiServer } from "./server/api-server.ts";
export { ApiServerError } from "./server/api-server-error.ts";
export type { ServerUser } from "./server/server-files.ts";
