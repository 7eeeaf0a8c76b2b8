// The store of `xfn-runner`, for tests of its quota.
export { openImageStore } from "../src/service/open-image-store.ts";
