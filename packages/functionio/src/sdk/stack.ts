/** The frame of the SDK that calls a handler. `compose` has a function of this name. */
const CALLER = /^\s+at .*\bhandlerCalledByXfn\b/;

/** Cuts the frames of the SDK from the stack of an error and of its causes: authors cannot act on them. */
export function withoutOurFrames(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    const lines = at.stack?.split("\n") ?? [];
    const end = lines.findIndex((line) => CALLER.test(line));
    // Without a frame of the handler, ours are better than none.
    if (end <= 0 || !/^\s+at /.test(lines[end - 1] ?? "")) continue;
    const value = lines.slice(0, end).join("\n");
    // A frozen error keeps its stack.
    Reflect.defineProperty(at, "stack", { value, configurable: true, writable: true, enumerable: false });
  }
  return error;
}
