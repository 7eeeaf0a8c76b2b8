/**
 * Prepares an image with too few resources, and again with enough: STORE NAME. Prints the first error's code, system
 * code and message as JSON, and the numbers of files in the store. Prints "none" if there was no error.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ImageError } from "../src/base/errors.ts";
import { openStore } from "../src/transfer/open-store.ts";

const [dir = "", name = ""] = process.argv.slice(2);
const count = (folder: string): number => readdirSync(join(dir, folder)).length;
const outcome = await openStore({ dir })
  .then((store) => store.image(name))
  .then(
    () => "none",
    async (error: unknown) => {
      if (!(error instanceof ImageError)) throw error;
      // Failed removals are retried after a delay.
      for (let i = 0; i < 50 && count("tmp") > 0; i++) await new Promise((resolve) => setTimeout(resolve, 50));
      return {
        code: error.code,
        message: error.message,
        left: { images: count("images/sha256"), layers: count("layers/sha256"), tmp: count("tmp") },
      };
    },
  );
console.log(JSON.stringify(outcome));
