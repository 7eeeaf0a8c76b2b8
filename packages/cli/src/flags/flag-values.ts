import type { Platform } from "@xfn/oci-rootfs";
import { usageError } from "../errors/cli-error.ts";
import { keyAndValue } from "./key-value.ts";
import { platformOption } from "./registry-flags.ts";

/**
 * Reads the platforms of `--platform`, which is repeatable and may contain commas.
 *
 * @throws CliError `Usage` for an invalid platform, and for one that occurs twice
 */
export function platformList(values: readonly string[] | undefined): readonly Platform[] {
  const texts = (values ?? []).flatMap((value) => value.split(",")).map((text) => text.trim());
  const platforms = texts.map(platformOption);
  const twice = texts.find((text, at) => texts.indexOf(text) !== at);
  if (twice !== undefined) throw usageError(`--platform contains ${twice} twice`);
  return platforms;
}

/**
 * Reads `KEY=VALUE` of a repeatable option. The last value of a key wins.
 *
 * @throws CliError `Usage` for another form
 */
export function keyValues(option: string, values: readonly string[] | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((values ?? []).map((value) => keyAndValue(option, value)));
}
