/** Prepares images one after another in a process with a small heap: STORE NAME... Prints the number of images. */
import { openStore } from "../src/transfer/open-store.ts";

const [dir = "", ...names] = process.argv.slice(2);
const store = await openStore({ dir });
const images = new Set<string>();
for (const name of names) images.add((await store.image(name)).digest);
console.log(images.size);
