export { ImageError, type ImageErrorCode, type ImageErrorPlace } from "./errors.ts";
export { parseReference, type Reference } from "./reference.ts";
export { openStore, type Image, type ImageOptions, type Store, type StoredName, type StoreOptions } from "./store.ts";
