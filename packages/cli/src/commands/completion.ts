import { declareCompletion } from "@xfn/program/completion";
import { usageError } from "../errors/cli-error.ts";
import type { CommandContext } from "./command-context.ts";

const PACKAGE_KINDS = ["provider", "function", "configuration"];

/** Declares `xfn completion`. */
export function addCompletion({ program, output }: CommandContext): void {
  declareCompletion(program, {
    arguments: {
      run: ["images"],
      push: ["images"],
      copy: ["images"],
      "images rm": ["images"],
      trace: ["kinds", "objects"],
      rollout: ["compositions"],
      "xpkg install": [PACKAGE_KINDS],
      "xpkg update": [PACKAGE_KINDS],
    },
    list: async (kind, words, given) => {
      const { listValues } = await import("../completion/list-values.ts");
      return await listValues(kind, words, given);
    },
    write: async (text) => await output.product(text),
    usageError,
  });
}
