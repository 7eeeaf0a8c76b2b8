import type { Servable } from "./serve.ts";

/**
 * Serves a function if its file is the program (`node function.ts < io.json`). Does nothing if a test, a server or a
 * bundle's entry imports the file. Callers need not await it.
 *
 * @param meta the file's own `import.meta`
 */
export async function run(meta: { readonly main?: boolean }, fn: Servable): Promise<void> {
  if (meta.main !== true) return;
  const { serve } = await import("./serve.ts");
  serve(fn);
}
