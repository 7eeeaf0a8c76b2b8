import type { Plugin } from "esbuild";

/** The first import of a bundle's entry. */
export const MAPPED_STACKS = "xfn:mapped-stacks";

// Runs in the function. Reads the source map on demand; `node --enable-source-maps` would read it in every call, which
// takes 5 ms.
const CODE = `
let map;
Error.prepareStackTrace = (error, frames) => {
  try {
    map ??= new (require("node:module").SourceMap)(JSON.parse(require("node:fs").readFileSync(__filename + ".map", "utf8")));
  } catch {
    map = { findEntry: () => ({}) };
  }
  const lines = frames.map((frame) => {
    const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
    const { originalSource, originalLine, originalColumn } = file === __filename ? map.findEntry(line - 1, column - 1) : {};
    if (originalSource === undefined) return "\\n    at " + frame;
    const place = originalSource + ":" + (originalLine + 1) + ":" + (originalColumn + 1);
    return "\\n    at " + String(frame).replace(file + ":" + line + ":" + column, place);
  });
  return error + lines.join("");
};
`;

/** An esbuild plugin that maps stack traces to the function's own files and lines. */
export const mappedStacks: Plugin = {
  name: "xfn-mapped-stacks",
  setup(build) {
    build.onResolve({ filter: /^xfn:mapped-stacks$/ }, () => ({ path: "mapped-stacks", namespace: "xfn" }));
    build.onLoad({ filter: /.*/, namespace: "xfn" }, () => ({ contents: CODE, loader: "js" }));
  },
};
