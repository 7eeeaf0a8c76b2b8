/** Uses an image until it is killed: STORE NAME. */
import { openStore } from "../src/transfer/open-store.ts";

const [dir = "", name = ""] = process.argv.slice(2);
const store = await openStore({ dir });
await store.image(name);
console.log("using");
setInterval(() => {}, 1000);
