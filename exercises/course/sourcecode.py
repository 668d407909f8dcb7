"""The words of an answer as the compiler reads them: without comments and without texts."""

import re

_PIECE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z))"""
    r"""|(?P<text>"(?:\\.|[^"\\\n])*(?:"|(?=\n)|\Z))"""
    r"""|(?P<number>\.?[0-9](?:'?[0-9A-Za-z_]|[eEpP][+-]|\.)*)"""  # 1'000 begins no character
    r"""|(?P<character>'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\Z))"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_]*)""", re.DOTALL | re.VERBOSE)

_KEYWORDS = ("private protected public class struct union enum const constexpr consteval static "
             "friend virtual volatile typename template namespace using return if else for while "
             "do switch case default new delete this operator").split()


def code_of(text):
    """The text with each comment as a space, and each string and character as an empty one."""
    text = text.replace("\r\n", "\n")
    text = re.sub(r"\\[ \t]*\n", "", text)  # a line that goes on in the next

    def replace(piece):
        if piece["comment"] is not None:
            return " "
        if piece["raw"] is not None or piece["text"] is not None:
            return '""'
        return "' '" if piece["character"] is not None else piece[0]

    return _PIECE.sub(replace, text)


def refuse(text, kind):
    """What an answer may not say at all, in one sentence; "" when it says nothing of that."""
    code = code_of(text)
    assembly = re.search(r"\b(asm|__asm|__asm__)\b", code)
    if assembly:
        return f"it uses {assembly[0]}: an answer is C++ without assembly"
    attribute = re.search(r"\b(__attribute__|__attribute|__gnu__)\b|\bgnu\s*::", code)
    if attribute:
        return f"it uses {attribute[0]}: an answer needs no attributes of the compiler"
    if re.search(r"##|%:%:", code):
        return "it pastes words together (##): an answer needs no such macros"
    embedded = re.search(r"^[ \t]*(?:#|%:)[ \t]*(embed|include_next|import)\b", code, re.MULTILINE)
    if embedded:
        return f"it uses #{embedded[1]}: an answer is one file, and includes with #include"
    for defined in re.finditer(r"^[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)", code, re.MULTILINE):
        if defined[1] in _KEYWORDS:
            return f"it gives the word {defined[1]} another meaning by #define"
    if kind == "stage" and re.search(r"\bconst_cast\b", code):
        return "it uses const_cast: nothing that is const needs to be changed"
    return ""
