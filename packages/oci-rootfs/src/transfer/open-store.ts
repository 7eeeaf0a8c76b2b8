import { createStore, openInternals, type Store, type StoreOptions } from "../store/store.ts";
import { imageByName } from "./image-by-name.ts";

/** @throws ImageError StoreFailed */
export async function openStore(options: StoreOptions): Promise<Store> {
  const inside = openInternals(options);
  return createStore(inside, (name, imageOptions = {}) => imageByName(inside, name, imageOptions));
}
