import { required, type SettingsOf, settings, toggle } from "@xfn/program/settings";
import type { LoginFlags } from "../images/login-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { REGISTRY_SETTINGS } from "./shared-settings.ts";

const { insecureRegistry, registryCa, trustedRealm } = REGISTRY_SETTINGS;
const SETTINGS: SettingsOf<LoginFlags> = settings({
  username: required("<name>", "the user, or what the registry wants in its place for a token", { short: "u" }),
  passwordStdin: toggle("read the password from stdin"),
  insecureRegistry,
  registryCa,
  trustedRealm,
});

const LOGIN_HELP = `
REGISTRY is a host, or a host with a path: registry.example.org/team is for the repositories below team only. The password comes
from stdin, or from the terminal. The registry is asked first whether it accepts it. Stores the credentials where \`docker login\` does, or in
the file that has an entry for REGISTRY, or in REGISTRY_AUTH_FILE; a credential helper that the file names gets them instead.
Exit code 0; 1 if the registry refuses them, or the file cannot be written safely; 2 for wrong usage.

Example:
  $ xfn login registry.example.org --username ada --password-stdin <token`;

/** Declares `xfn login`. */
export function addLogin(context: CommandContext): void {
  declareCommand(context, "login", {
    description: "store credentials for a registry",
    arguments: { "<registry>": "HOST[:PORT][/PATH]" },
    settings: SETTINGS,
    help: LOGIN_HELP,
    run: async (flags, registry: string) => {
      const { runLogin } = await import("../images/login-command.ts");
      return await runLogin(registry, flags, context.output);
    },
  });
}

const LOGOUT_HELP = `
Removes the credentials for REGISTRY from all files that xfn reads, those of Podman and Docker included, and from their helpers.
Exit code 0, also if there were none; 1 if a file cannot be written safely; 2 for wrong usage.`;

/** Declares `xfn logout`. */
export function addLogout(context: CommandContext): void {
  declareCommand(context, "logout", {
    description: "remove the credentials for a registry",
    arguments: { "<registry>": "HOST[:PORT][/PATH]" },
    settings: {},
    help: LOGOUT_HELP,
    run: async (_flags, registry: string) => {
      const { runLogout } = await import("../images/login-command.ts");
      return await runLogout(registry, context.output);
    },
  });
}
