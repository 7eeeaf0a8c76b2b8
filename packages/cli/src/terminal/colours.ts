import pico from "picocolors";

/**
 * Colours for one stream: only on a terminal, and not when `NO_COLOR` is set (https://no-color.org/) or the terminal is
 * `dumb`.
 */
export function colours(
  stream: { readonly isTTY?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): ReturnType<typeof pico.createColors> {
  const refused = (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return pico.createColors(stream.isTTY === true && !refused);
}
