import { declareSettings, type SettingsOf } from "@xfn/program/settings";
import type { LoginFlags } from "../images/login-command.ts";
import { type CommandContext, readFlags } from "./command-context.ts";
import { REGISTRY_SETTINGS } from "./shared-settings.ts";

const { insecureRegistry, registryCa, trustedRealm } = REGISTRY_SETTINGS;
const SETTINGS: SettingsOf<Omit<LoginFlags, "username" | "passwordStdin">> = {
  insecureRegistry,
  registryCa,
  trustedRealm,
};

const LOGIN_HELP = `
REGISTRY is a host, or a host with a path: registry.example.org/team is for the repositories below team only. The password comes
from stdin, or from the terminal. The registry is asked first whether it accepts it. Stores the credentials where \`docker login\` does, or in
the file that has an entry for REGISTRY, or in REGISTRY_AUTH_FILE; a credential helper that the file names gets them instead.
Exit code 0; 1 if the registry refuses them, or the file cannot be written safely; 2 for wrong usage.

Example:
  $ xfn login registry.example.org --username ada --password-stdin <token`;

/** Declares `xfn login`. */
export function addLogin({ program, output, finish }: CommandContext): void {
  const command = program
    .command("login")
    .description("store credentials for a registry")
    .argument("<registry>", "HOST[:PORT][/PATH]")
    .requiredOption("-u, --username <name>", "the user, or what the registry wants in its place for a token")
    .option("--password-stdin", "read the password from stdin");
  declareSettings(command, SETTINGS)
    .addHelpText("after", LOGIN_HELP)
    .action(async (registry: string) => {
      const { username, passwordStdin } = command.opts<{ username: string; passwordStdin?: boolean }>();
      const flags = { ...readFlags(command, SETTINGS), username, passwordStdin };
      const { runLogin } = await import("../images/login-command.ts");
      finish(await runLogin(registry, flags, output));
    });
}

const LOGOUT_HELP = `
Removes the credentials for REGISTRY from all files that xfn reads, those of Podman and Docker included, and from their helpers.
Exit code 0, also if there were none; 1 if a file cannot be written safely; 2 for wrong usage.`;

/** Declares `xfn logout`. */
export function addLogout({ program, output, finish }: CommandContext): void {
  program
    .command("logout")
    .description("remove the credentials for a registry")
    .argument("<registry>", "HOST[:PORT][/PATH]")
    .addHelpText("after", LOGOUT_HELP)
    .action(async (registry: string) => {
      const { runLogout } = await import("../images/login-command.ts");
      finish(await runLogout(registry, output));
    });
}
