// The store of `xfn-runner`, for tests of its quota.
export { openImageStore } from "../src/program/open-image-store.ts";
