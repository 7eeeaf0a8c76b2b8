import { compileSchema } from "@xfn/composition/schema";
import { InputError } from "@xfn/input";
import type { KindSchemas } from "@xfn/pipeline";
import { kindKey } from "../validate/documents.ts";
import { type ExtensionFlags, readExtensionSources } from "../validate/read-extensions.ts";
import { errorLine } from "../validate/result.ts";
import { readExtensions } from "../validate/schemas.ts";

/**
 * The schemas for steps with `schema: Strict`: those of `--crds` and `--xrd`, and those of Kubernetes' own kinds, as
 * `xfn validate` knows them.
 *
 * @param sources lists of files, folders and packages
 * @throws InputError for a source that is unreadable, and for one with an error
 */
export async function knownSchemas(sources: readonly string[], flags: ExtensionFlags): Promise<KindSchemas> {
  const documents = [];
  for (const source of sources) documents.push(...(await readExtensionSources(source, flags)));
  const { kinds, results } = readExtensions(documents);
  const errors = results.flatMap((result) => result.errors);
  if (errors.length > 0) {
    throw new InputError("the schemas for schema: Strict have errors (--crds, --xrd)", {
      details: errors.map(errorLine),
    });
  }
  const builtin = new Map<string, ReturnType<KindSchemas["of"]>>();
  return {
    of(apiVersion, kind) {
      const key = kindKey(apiVersion, kind);
      const known = kinds.get(key)?.schema ?? builtin.get(key);
      if (known !== undefined) return known;
      const schema = ofBuiltin(apiVersion, kind);
      builtin.set(key, schema);
      return schema;
    },
  };
}

async function ofBuiltin(apiVersion: string, kind: string): Promise<Awaited<ReturnType<KindSchemas["of"]>>> {
  const { builtinSchema } = await import("@xfn/kubernetes/builtin-kinds");
  const schema = await builtinSchema(apiVersion, kind);
  return schema && compileSchema(schema);
}
