<?xml version="1.0" encoding="UTF-8"?>
<!-- Shows a document as a page. Everything is taken from the document as text; only http and https become links. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/" exclude-result-prefixes="s rs">
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat"/>

  <xsl:template match="/*">
    <xsl:variable name="title">
      <xsl:choose>
        <xsl:when test="rs:md/@capability"><xsl:value-of select="rs:md/@capability"/></xsl:when>
        <xsl:otherwise>sitemap</xsl:otherwise>
      </xsl:choose>
    </xsl:variable>
    <html lang="en">
      <head>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <title><xsl:value-of select="$title"/></title>
        <style>
          :root { color-scheme: light dark; --ink: #19212b; --soft: #53606f; --line: #d9dfe7; --paper: #fff; --card: #f5f7fa; --accent: #0b57d0; }
          @media (prefers-color-scheme: dark) { :root { --ink: #e4e9f0; --soft: #a3b0bf; --line: #2c3642; --paper: #10151b; --card: #181f28; --accent: #8ab4f8; } }
          body { background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 68rem; padding: 1.5rem 1rem; }
          h1 { font-size: 1.6rem; margin: 0 0 .3rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
          p, th { color: var(--soft); } a { color: var(--accent); }
          table { border-collapse: collapse; width: 100%; }
          th, td { border-bottom: 1px solid var(--line); font-weight: 400; padding: .4rem 1rem .4rem 0; text-align: left; vertical-align: top; white-space: nowrap; }
          .wide, th[scope=row] { overflow-wrap: anywhere; white-space: normal; } .wide { width: 100%; } th[scope=row] { min-width: 7rem; }
          .figure { text-align: right; } :focus-visible { outline: 3px solid var(--accent); }
          @media (max-width: 40rem) {
            .entries thead { clip-path: inset(50%); position: absolute; }
            .entries tr { border-bottom: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .4rem 0; }
            .entries td { border: 0; padding: 0; white-space: normal; } .entries td:empty { display: none; }
            .entries .figure::after { content: " bytes"; }
          }
        </style>
      </head>
      <body>
        <main>
          <h1><xsl:value-of select="$title"/></h1>
          <p>A document of ResourceSync (ANSI/NISO Z39.99-2017), for programs that keep copies in step. This page shows its content.</p>
          <table>
            <xsl:for-each select="rs:md/@*[name() != 'capability']">
              <tr><th scope="row"><xsl:value-of select="name()"/></th><td class="wide"><xsl:value-of select="."/></td></tr>
            </xsl:for-each>
            <xsl:for-each select="rs:ln">
              <tr>
                <th scope="row"><xsl:value-of select="@rel"/></th>
                <td class="wide"><xsl:call-template name="link"><xsl:with-param name="to" select="@href"/></xsl:call-template></td>
              </tr>
            </xsl:for-each>
          </table>
          <h2>
            <xsl:value-of select="count(s:url | s:sitemap)"/>
            <xsl:choose>
              <xsl:when test="count(s:url | s:sitemap) = 1"> entry</xsl:when>
              <xsl:otherwise> entries</xsl:otherwise>
            </xsl:choose>
          </h2>
          <table class="entries">
            <thead><tr><th scope="col">Address</th><th scope="col">About it</th><th scope="col" class="figure">Bytes</th><th scope="col">Time</th></tr></thead>
            <tbody>
              <xsl:for-each select="s:url | s:sitemap">
                <tr>
                  <td class="wide"><xsl:call-template name="link"><xsl:with-param name="to" select="s:loc"/></xsl:call-template></td>
                  <td><xsl:value-of select="rs:md/@capability"/><xsl:value-of select="rs:md/@change"/></td>
                  <td class="figure"><xsl:value-of select="rs:md/@length"/></td>
                  <td>
                    <xsl:choose>
                      <xsl:when test="rs:md/@datetime"><xsl:value-of select="rs:md/@datetime"/></xsl:when>
                      <xsl:when test="s:lastmod"><xsl:value-of select="s:lastmod"/></xsl:when>
                      <xsl:when test="rs:md/@from">from <xsl:value-of select="rs:md/@from"/></xsl:when>
                      <xsl:when test="rs:md/@at">at <xsl:value-of select="rs:md/@at"/></xsl:when>
                    </xsl:choose>
                  </td>
                </tr>
              </xsl:for-each>
            </tbody>
          </table>
        </main>
      </body>
    </html>
  </xsl:template>

  <xsl:template name="link">
    <xsl:param name="to"/>
    <xsl:choose>
      <xsl:when test="starts-with($to, 'http://') or starts-with($to, 'https://')">
        <a href="{$to}"><xsl:value-of select="$to"/></a>
      </xsl:when>
      <xsl:otherwise><xsl:value-of select="$to"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
