import type { Platform } from "@xfn/oci-rootfs";
import { usageError } from "../errors/cli-error.ts";
import { platformOption } from "./registry-flags.ts";

/**
 * The platforms of `--platform`, which may be given several times or hold commas.
 *
 * @throws CliError `Usage` for what is none, and for one that is named twice
 */
export function platformList(values: readonly string[] | undefined): readonly Platform[] {
  const texts = (values ?? []).flatMap((value) => value.split(",")).map((text) => text.trim());
  const platforms = texts.map(platformOption);
  const twice = texts.find((text, at) => texts.indexOf(text) !== at);
  if (twice !== undefined) throw usageError(`--platform names ${twice} twice`);
  return platforms;
}

/**
 * `KEY=VALUE` of an option that may be given several times. The last one of a key counts.
 *
 * @throws CliError `Usage` for what is no such pair
 */
export function keyValues(option: string, values: readonly string[] | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (values ?? []).map((value) => {
      const at = value.indexOf("=");
      if (at <= 0) throw usageError(`${option} takes KEY=VALUE, not ${JSON.stringify(value)}`);
      return [value.slice(0, at), value.slice(at + 1)];
    }),
  );
}
