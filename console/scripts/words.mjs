// Which texts of the sources a person reads, and which are code: class names, ids, paths, states.
// By rules of thumb, sharp enough that a test can hold the console to its catalogue of messages.
import ts from "typescript";

const { SyntaxKind } = ts;

// Attributes and properties that hold code.
export const TECH_ATTR =
  /^(className|class|href|to|key|id|type|style|d|rel|name|value|role|autoComplete|inputMode|src|xmlns|viewBox|fill|stroke|method|encType|htmlFor|tone|look|kind|icon|target|accept|dateTime|lang|form|pattern|slot|params|search|from|permission|may|operation|path|field|command|precision|queryKey|data-(?!label)\w+|aria-(?!label|description|roledescription|valuetext)\w+)$/;
const TECH_PROPERTY =
  /^(id|key|type|kind|to|path|queryKey|method|className|tone|look|name|href|field|value|icon|param|code|parseAs|precision|unit|rel|target|operation|permission|command|curl|format|style|year|month|day|hour|minute|second|weekday|timeZone|numeric|notation)$/;
// Functions whose texts nobody reads.
const TECH_CALL =
  /^(useMay|mayCall|getRouteApi|createRoute|lazy|matchMedia|Symbol|isCommand|require|fetch|t|t\.rich)$|^api\.|(^|\.)(querySelector(All)?|addEventListener|removeEventListener|getItem|setItem|removeItem|setAttribute|getAttribute|startsWith|endsWith|includes|split|replace|replaceAll|match|test|indexOf|join|append|createElement|createElementNS|getElementById|closest|postMessage|DateTimeFormat|NumberFormat|toLocaleString|set|get|has|delete|defineProperty|getContext|mark|measure|Error|RegExp|URL|Set|Map)$/;
const TECH_WORD =
  /^(GET|POST|PUT|DELETE|PATCH) ?\/?|^curl |^\(?(min|max)-width|prefers-|^\.|^#|:\/\/|^--|^[\w-]+:[\w-]+$|=>|\$\{|^var\(|\w=\w|[{}]|^\d+px|^[MmLl]\d|^[a-z-]+( [a-z]+-[a-z-]+)+$/;
// Names that are the same in every language, and keys.
const NAMES = new Set(
  (
    "Enter Escape Tab ArrowDown ArrowUp ArrowLeft ArrowRight PageUp PageDown Backspace Point Polygon Feature FeatureCollection Bearer TypeError AbortError SyntaxError " +
    "Uint8Array Meta Authorization ChirpStack LORIOT ThingPark Parquet NDJSON JSON CSV Leaflet UTC Actility Kerlink Sigfox Wirepas Infinity NaN LoRaWAN MQTT HTTP HTTPS " +
    "AMQP Kafka NATS Grafana Prometheus longwire TOML DevEUI JoinEUI AppKey English Deutsch Français"
  ).split(" "),
);
const UNITS = /^(ms|s|min|h|d|kB|MB|GB|B|dB|dBm|MHz|kHz|Hz|px|fr|rem|em|ch|vh|vw|deg|M|k|V|m|km|SF|x|id|utf|z|rgb|rgba|var|translate|rotate|scale|solid|none)$/;

export function isWords(text) {
  const trimmed = text.trim();
  if (!/[A-Za-z]{2}/.test(trimmed) || NAMES.has(trimmed) || TECH_WORD.test(trimmed)) return false;
  if (/^[A-Z][a-zà-ü]+([ \-’'][\w]+)*[.…?:!]?$/.test(trimmed)) return true;
  return /[A-Za-z]{2,}[,;:.)]? [(“]?[A-Za-z]/.test(trimmed) || /[A-Za-z]{2,}[.…?]$/.test(trimmed);
}

// Of the fixed parts of a template.
export function isTemplateWords(parts) {
  const all = parts.join(" ");
  if (/curl |:\/\/|^\/|\/\w+\/|longwire\.|[{}]|=|^#|--|^\?|&|_/.test(all) || /^[a-z]+[-:.]$/.test(parts[0])) return false;
  const hasWord = (all.match(/[A-Za-z]+/g) ?? []).some((word) => word.length >= 2 && !UNITS.test(word));
  const standsAlone = parts.some((part) => /(^|\s|[(“])[A-Za-z]{2,}|[A-Za-z]{2,}(\s|$|[:.,;”)])/.test(part));
  return hasWord && standsAlone && (/ /.test(all.trim()) || /^[A-Z]/.test(all.trim()) || /^ | $/.test(parts.join("")));
}

export function attrOf(node) {
  for (let at = node.parent; at; at = at.parent) {
    if (ts.isJsxAttribute(at)) return at.name.getText();
    if (ts.isJsxElement(at) || ts.isJsxFragment(at) || ts.isFunctionLike(at)) return null;
  }
  return null;
}

function propertyOf(node) {
  for (let at = node.parent; at; at = at.parent) {
    if (ts.isPropertyAssignment(at)) return at.name.getText();
    if (!ts.isConditionalExpression(at) && !ts.isParenthesizedExpression(at) && !ts.isBinaryExpression(at) && !ts.isAsExpression(at)) return null;
  }
  return null;
}

export function isNoText(node) {
  const { parent } = node;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isTypeNode(parent) || ts.isTaggedTemplateExpression(parent)) return true;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ts.isPropertySignature(parent) || ts.isEnumMember(parent) || ts.isElementAccessExpression(parent) || ts.isCaseClause(parent)) return true;
  if (ts.isArrayLiteralExpression(parent) && ts.isPropertyAccessExpression(parent.parent)) return true;
  const compared = [SyntaxKind.EqualsEqualsEqualsToken, SyntaxKind.ExclamationEqualsEqualsToken, SyntaxKind.InKeyword];
  if (ts.isBinaryExpression(parent) && compared.includes(parent.operatorToken.kind)) return true;
  if (ts.isAsExpression(parent) && parent.type.getText() === "const") return true;
  for (let at = parent; at && !ts.isFunctionLike(at) && !ts.isJsxElement(at); at = at.parent) {
    if (ts.isNewExpression(at) && at.arguments?.includes(node)) return true;
    if (ts.isTypeNode(at)) return true;
    if (ts.isCallExpression(at)) {
      const name = at.expression.getText();
      if (TECH_CALL.test(name) && (at.arguments.includes(node) || name.startsWith("api."))) return true;
    }
  }
  return TECH_ATTR.test(attrOf(node) ?? "") || TECH_PROPERTY.test(propertyOf(node) ?? "");
}

const WORDY_ATTR = /^(title|hint|aria-label|placeholder|label|note|submit|noun|text|none)$/;
const UNSPOKEN_TAGS = ["code", "pre", "kbd", "style", "script"];
const isLiteral = (node) => ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node);

// The texts of a source file that are not looked up in the catalogue: `line: text`.
export function findWords(source) {
  const found = [];
  const note = (node, text) => found.push(`${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${text.trim().replace(/\s+/g, " ")}`);
  const visit = (node) => {
    if (ts.isJsxElement(node) && UNSPOKEN_TAGS.includes(node.openingElement.tagName.getText())) return;
    if (ts.isJsxText(node) && /[A-Za-z]{2}/.test(node.text) && !NAMES.has(node.text.trim())) note(node, node.text);
    else if (ts.isJsxAttribute(node) && node.initializer && ts.isStringLiteral(node.initializer)) {
      const name = node.name.getText();
      const { text } = node.initializer;
      if (!TECH_ATTR.test(name) && (isWords(text) || (WORDY_ATTR.test(name) && /^[a-z]{3,}( |$)/.test(text)))) note(node, text);
    } else if (isLiteral(node) && !ts.isJsxAttribute(node.parent) && isWords(node.text) && !isNoText(node)) note(node, node.text);
    else if (ts.isTemplateExpression(node) && !isNoText(node)) {
      const parts = [node.head.text, ...node.templateSpans.map((span) => span.literal.text)];
      if (isTemplateWords(parts)) note(node, node.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
