import { ImageError } from "../base/errors.ts";

/** The user of a process, as in the OCI runtime specification. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  readonly additionalGids: readonly number[];
}

/** Contents of the image's `/etc/passwd` and `/etc/group`; undefined for a missing file. */
export interface UserFiles {
  readonly passwd: string | undefined;
  readonly group: string | undefined;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly groups: number[];
}

const PASSWD_FIELDS = 7;
const GROUP_FIELDS = 4;
const MAX_ID = 2 ** 32 - 1;
/** A runner keeps the groups of each image in memory. The kernel permits 65,536 (credentials(7)). */
const MAX_ADDITIONAL_GROUPS = 1024;

/**
 * Resolves an image's USER (`user`, `uid`, `user:group`, ...). Digits are an id even if an account has that name. An
 * unknown id has group 0. A user retains its additional groups if a group is given.
 *
 * @throws ImageError InvalidConfig for an unknown name, and for files that are invalid
 */
export function resolveUser(user: string, files: () => UserFiles): ProcessUser {
  if (user === "") return { uid: 0, gid: 0, additionalGids: [] };
  const [name = "", groupName, ...more] = user.split(":");
  if (more.length > 0) throw invalid(`cannot read user ${JSON.stringify(user)}: more than one colon`);
  const { passwd, group } = files();
  // As other tools, uses the one of the files that exists. Crossplane's reference runner then ignores it.
  const accounts = readAccounts({ passwd: passwd ?? "", group: group ?? "" });

  const uid = parseId(name);
  const account = uid === undefined ? accounts.byName.get(name) : accounts.byUid.get(uid);
  if (account === undefined && uid === undefined)
    throw invalid(`the image's user ${JSON.stringify(name)} is not in its /etc/passwd`);
  const base = account ?? { uid: uid ?? 0, gid: 0, groups: [] };
  if (base.groups.length > MAX_ADDITIONAL_GROUPS)
    throw invalid(
      `the image's user ${JSON.stringify(name)} has more than ${MAX_ADDITIONAL_GROUPS} groups in its /etc/group`,
    );
  if (groupName === undefined) return { uid: base.uid, gid: base.gid, additionalGids: base.groups };

  const gid = parseId(groupName) ?? accounts.groups.get(groupName);
  if (gid === undefined) throw invalid(`the image's group ${JSON.stringify(groupName)} is not in its /etc/group`);
  return { uid: base.uid, gid, additionalGids: base.groups };
}

function readAccounts(files: { passwd: string; group: string }): {
  byName: Map<string, Account>;
  byUid: Map<number, Account>;
  groups: Map<string, number>;
} {
  const byName = new Map<string, Account>();
  const byUid = new Map<number, Account>();
  for (const [name = "", , uid, gid] of readRecords(files.passwd, PASSWD_FIELDS, "/etc/passwd")) {
    const account = { uid: requireId(uid, "/etc/passwd"), gid: requireId(gid, "/etc/passwd"), groups: [] };
    byName.set(name, account);
    byUid.set(account.uid, account);
  }
  const groups = new Map<string, number>();
  for (const [name = "", , id, members = ""] of readRecords(files.group, GROUP_FIELDS, "/etc/group")) {
    const gid = requireId(id, "/etc/group");
    groups.set(name, gid);
    for (const member of members.split(",")) {
      const account = byName.get(member);
      // The primary group is not an additional one.
      if (account !== undefined && account.gid !== gid) account.groups.push(gid);
    }
  }
  return { byName, byUid, groups };
}

/**
 * Parses records of fields that are separated by colons. Quoted fields may contain line breaks, and `#` begins a
 * comment. Crossplane's reference runner reads the files with Go's encoding/csv, which has these rules (RFC 4180).
 */
function readRecords(text: string, fields: number, file: string): string[][] {
  const records: string[][] = [];
  const reader = new FieldReader(text.replaceAll("\r\n", "\n").replace(/\r$/, ""));
  while (reader.toNextRecord()) {
    const { line } = reader;
    const record = reader.record();
    if (record === undefined) throw invalid(`cannot read ${file} of the image, line ${line}: stray quote`);
    if (record.length !== fields)
      throw invalid(`cannot read ${file} of the image, line ${line}: ${record.length} fields instead of ${fields}`);
    records.push(record);
  }
  return records;
}

/** Reads each character once, because an image can have a line as long as the file. */
class FieldReader {
  readonly #text: string;
  #at = 0;
  line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  /** Skips empty lines and comments. @returns false at the end of the text */
  toNextRecord(): boolean {
    for (;;) {
      const first = this.#text[this.#at];
      if (first === undefined) return false;
      if (first !== "\n" && first !== "#") return true;
      this.#take(/[^\n]*\n?/y);
      this.line += 1;
    }
  }

  /** Returns the fields of a record; undefined for a misplaced quote. */
  record(): string[] | undefined {
    const fields: string[] = [];
    for (;;) {
      // Go's definition of space excludes the byte order mark and includes U+0085.
      this.#take(/(?:(?![\n\uFEFF])\s|\u0085)*/y);
      const field = this.#text[this.#at] === '"' ? this.#quoted() : this.#take(/[^:\n"]*/y);
      if (field === undefined) return undefined;
      fields.push(field);
      const next = this.#text[this.#at];
      if (next === '"') return undefined;
      this.#at += 1;
      if (next === ":") continue;
      this.line += 1;
      return fields;
    }
  }

  #quoted(): string | undefined {
    let field = "";
    for (;;) {
      this.#at += 1;
      const part = this.#take(/[^"]*/y);
      field += part;
      this.line += part.split("\n").length - 1;
      if (this.#at >= this.#text.length) return undefined;
      this.#at += 1;
      const next = this.#text[this.#at];
      if (next === undefined || next === ":" || next === "\n") return field;
      if (next !== '"') return undefined;
      field += '"';
    }
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }
}

function requireId(text: string | undefined, file: string): number {
  const id = parseId(text ?? "");
  if (id === undefined) throw invalid(`cannot read ${file} of the image: ${JSON.stringify(text)} is not an id`);
  return id;
}

function parseId(text: string): number | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined;
  const id = Number(text);
  return id <= MAX_ID ? id : undefined;
}

function invalid(message: string): ImageError {
  return new ImageError("InvalidConfig", message);
}
