/** Words and phrases that are not used, and what to write instead. */
export const BANNED: readonly (readonly [RegExp, string])[] = [
  [/\b(?:is|are|was|were|be|been) told\b/i, "reported, logged, or the subject that reports"],
  [/\btells? of\b|\btold of\b/i, "report, emit, log"],
  [/\bearly sandbox(?:es)?\b/i, "pre-started sandbox, warm pool"],
  [/\brecipes?\b/i, "spec"],
  [/\bjudge[sd]?\b/i, "evaluate, classify"],
  [/\bstrangers?\b/i, "unclaimed, unknown, foreign"],
  [/\bwhoever\b/i, "name the subject: the caller, the controller"],
  [/\bnobody\b|\bsomebody\b/i, "name the subject: no caller, another writer"],
  [/\bis to be\b|\bare to be\b|\bare to have\b|\bis to have\b/i, "must"],
  [/\bmend(?:s|ed)?\b/i, "fix"],
  [/\btakes? away\b|\btaken away\b/i, "remove"],
  [/\bgoes for\b/i, "applies to"],
  [/\bin the words of\b|\bin words for\b/i, "name what is formatted"],
  [/\bof ours\b|\bof theirs\b/i, "ours, or the owner's name"],
  [/\bstands on\b|\bstand on\b/i, "is based on"],
  [
    /(?<!\bthere\s+)\b(?:is|are|was|were)\s+no\s+(?!(?:longer|more|less|fewer)\b)[a-z]+/i,
    "is not a, does not count as, is not valid",
  ],
  [/\bwhatever\b/i, "any, even if, for any"],
  [/\bseed[- ]00\d\b|\bdesign\.md\b|\bdesign,? section\b/i, "a public source"],
];

/** The same as parts of identifiers. */
export const BANNED_PARTS: ReadonlyMap<string, string> = new Map([
  ...["told", "tell", "tells"].map((part) => [part, "report, emit"] as const),
  ...["judge", "judges", "judged"].map((part) => [part, "evaluate, classify"] as const),
  ...["recipe", "recipes"].map((part) => [part, "spec"] as const),
  ...["stranger", "strangers"].map((part) => [part, "unclaimed"] as const),
  ...["mend", "mended"].map((part) => [part, "fix"] as const),
  ...["gate", "gates"].map((part) => [part, "interceptor, semaphore, barrier"] as const),
  ...["held", "holding"].map((part) => [part, "acquired, retained"] as const),
  ["unseen", "undelivered"],
  ["survey", "mark"],
  ["standing", "priority"],
]);
